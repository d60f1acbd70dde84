"""`evenhand serve`: who is next, and why. A durable log of decisions, and an API in front of it.

`store/` keeps the log, `pools/` folds it into who is next, `api/` answers over HTTP.
"""

# ruff: noqa: F401  # the imports under TYPE_CHECKING are for static checkers and readers

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util.registry import lazy_exports

if TYPE_CHECKING:
    from evenhand.serve.client import DecisionClient
    from evenhand.serve.server import background_service

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "client": ("DecisionClient",),
        "server": ("background_service",),
    },
)
