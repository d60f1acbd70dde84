"""Audit: a decision log in, an answer out. Was it fair all along, and to whom was it not?

What is exported is loaded when it is first used: a monitor needs how logs are judged, and not all
that reads them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.auditing.answer.answer import Answer
    from evenhand.auditing.audit_log import audit
    from evenhand.auditing.compare_logs import LogComparison, compare
    from evenhand.auditing.options import AuditOptions

_MODULE_OF = {
    "Answer": "answer.answer",
    "AuditOptions": "options",
    "LogComparison": "compare_logs",
    "audit": "audit_log",
    "compare": "compare_logs",
}

__all__ = ["Answer", "AuditOptions", "LogComparison", "audit", "compare"]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
