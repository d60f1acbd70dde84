"""Audit: a decision log in, an answer out. Was it fair all along, and to whom was it not?

What is exported is loaded when it is first used: a monitor needs how logs are judged, and not all
that reads them.
"""

# ruff: noqa: F401  # the imports under TYPE_CHECKING are for static checkers and readers

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util.registry import lazy_exports

if TYPE_CHECKING:
    from evenhand.auditing.answer import Answer
    from evenhand.auditing.audit_log import audit
    from evenhand.auditing.compare_logs import LogComparison, compare, compare_periods
    from evenhand.log.log import Log
    from evenhand.log.options import AuditOptions

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "answer": ("Answer",),
        "audit_log": ("audit",),
        "compare_logs": (
            "LogComparison",
            "compare",
            "compare_periods",
        ),
        "evenhand.log.log": ("Log",),
        "evenhand.log.options": ("AuditOptions",),
    },
)
