"""Decide: who is next, what other rules would have done with a log, and the best there was.

What is exported here is loaded when first used; only environments need jax.
"""

# ruff: noqa: F401  # the imports under TYPE_CHECKING are for static checkers and readers

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util.registry import lazy_exports

if TYPE_CHECKING:
    from evenhand.decide.allocator import Allocator, Share
    from evenhand.decide.hindsight.best_of_log import best_there_was
    from evenhand.decide.hindsight.smallest_change import smallest_change
    from evenhand.decide.policies import rule_for
    from evenhand.decide.replay.answer import ReplayAnswer
    from evenhand.decide.world_from_log import world_of_log

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "allocator": (
            "Allocator",
            "Share",
        ),
        "hindsight.best_of_log": ("best_there_was",),
        "hindsight.smallest_change": ("smallest_change",),
        "policies": ("rule_for",),
        "replay.answer": ("ReplayAnswer",),
        "world_from_log": ("world_of_log",),
    },
)
