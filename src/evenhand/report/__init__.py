"""Reports: what was found, as one page that opens offline and can be sent on."""

from evenhand.report.html.pages.audit_page import report

__all__ = ["report"]
