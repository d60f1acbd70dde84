"""A memory in words and numbers that JSON has, and built from them: the one place for both."""

from __future__ import annotations

from typing import Any

from evenhand.errors import SchemeFileError
from evenhand.fairness.scheme_file import from_table, to_table
from evenhand.memory.memory import MEMORIES, Memory, Product


def memory_to_table(memory: Memory) -> Any:
    """A memory as its name and parameters; several side by side (`Product`) as a list."""
    if isinstance(memory, Product):
        return [memory_to_table(part) for part in memory.parts]
    return to_table(memory, MEMORIES)


def memory_from_table(table: Any) -> Memory:
    """The memory of a name, of a table of its name and parameters, or of a list of these."""
    if isinstance(table, list) and not table:
        raise SchemeFileError("memory is an empty list: name at least one memory.")
    if isinstance(table, list):
        return Product(tuple(memory_from_table(part) for part in table))
    return from_table(table, MEMORIES, "memory")
