"""Section 5.1: memories ⟨M, m_init, μ⟩. Finite automata as memories are in `memory.automata`.

The base class to subclass is Memory. Nothing here needs jax.
"""

from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import (
    MEMORIES,
    Attribute,
    Clock,
    Full,
    GroupDifference,
    GroupFull,
    LastWinner,
    Memory,
    Min,
    Nothing,
    OfStatus,
    Product,
    Reset,
    fading,
    memory_from_table,
    memory_to_table,
    recent,
)

__all__ = [
    "MEMORIES",
    "Attribute",
    "Clock",
    "FeatureLayout",
    "Full",
    "GroupDifference",
    "GroupFull",
    "LastWinner",
    "Memory",
    "Min",
    "Nothing",
    "OfStatus",
    "Product",
    "Reset",
    "fading",
    "memory_from_table",
    "memory_to_table",
    "recent",
]
