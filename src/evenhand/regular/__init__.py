"""Section 5.1: value-regular statuses and finite memories (Theorems 1 and 2)."""

from evenhand.regular.augmented import (
    AugmentedStatus,
    augmented_memory,
    automata_of,
    require_markovian,
)
from evenhand.regular.closure import table_memory
from evenhand.regular.events import Events
from evenhand.regular.expression import automaton_of
from evenhand.regular.nerode import Evidence
from evenhand.regular.table import TableMemory, TableStatus
from evenhand.regular.values import ValueRegular
from evenhand.regular.verdict import Verdict, value_regular

__all__ = [
    "AugmentedStatus",
    "Events",
    "Evidence",
    "TableMemory",
    "TableStatus",
    "ValueRegular",
    "Verdict",
    "augmented_memory",
    "automata_of",
    "automaton_of",
    "require_markovian",
    "table_memory",
    "value_regular",
]
