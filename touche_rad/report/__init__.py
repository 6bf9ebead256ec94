"""The report: one self-contained page."""

from touche_rad.report.page import ReportSummary, write_report

__all__ = ["ReportSummary", "write_report"]
