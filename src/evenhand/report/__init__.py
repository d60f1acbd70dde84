"""Reports: the results of an audit as one page that opens offline and can be sent."""

from evenhand.report.html.pages.audit_page import report

__all__ = ["report"]
