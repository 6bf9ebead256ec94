"""The report: one self-contained page."""

from touche_rad.report.contests import write_exports
from touche_rad.report.page import ReportSummary, write_report

__all__ = ["ReportSummary", "write_exports", "write_report"]
