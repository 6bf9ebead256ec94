"""The report: one HTML file, or a folder for large runs."""

from touche_rad.report.page import ReportSummary, write_report

__all__ = ["ReportSummary", "write_report"]
