"""Section 5.1: value-regular statuses and finite memories (Theorems 1 and 2)."""

from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.augmented import (
    AugmentedStatus,
    augmented_memory,
    automata_of,
    require_markovian,
)
from evenhand.memory.automata.automaton_memory import TableMemory, TableStatus
from evenhand.memory.automata.closure import table_memory
from evenhand.memory.automata.expression import automaton_of
from evenhand.memory.automata.languages import ValueRegular
from evenhand.memory.automata.nerode import Evidence
from evenhand.memory.automata.regularity import Regularity, value_regular

__all__ = [
    "AugmentedStatus",
    "Events",
    "Evidence",
    "Regularity",
    "TableMemory",
    "TableStatus",
    "ValueRegular",
    "augmented_memory",
    "automata_of",
    "automaton_of",
    "require_markovian",
    "table_memory",
    "value_regular",
]
