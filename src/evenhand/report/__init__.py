"""Reports: the results of an audit as one page that opens offline and can be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util.registry import lazy_exports

if TYPE_CHECKING:
    from evenhand.report.html.audit_page import report as report

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "html.audit_page": ("report",),
    },
)
