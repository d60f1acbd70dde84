"""An allocator as JSON, and back: a snapshot, from which a fold over later events goes on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.decide.allocator import Allocator
from evenhand.decide.rules.named_rule import RULES, rule_of, rule_to_table
from evenhand.decide.rules.ties import TIES
from evenhand.errors import BadFile, BadParameter
from evenhand.fairness.scheme_file import from_table, to_table

FORMAT = "evenhand allocator 1"
INFINITE = {math.inf: "inf", -math.inf: "-inf"}  # which JSON has no numbers for


def to_snapshot(allocator: Allocator) -> dict[str, Any]:
    """The state of an allocator as JSON."""
    copy = AllocatorCopy.of(allocator)
    return {**copy.head, "stakeholders": list(copy.people())}


@dataclass(frozen=True)
class AllocatorCopy:
    """The state of an allocator at one moment, whatever happens to it afterwards.

    To copy takes little time however many there are; what is written of it can be worked out later.

    Args:
        head: What is not about one stakeholder, as JSON has it.
        columns: What is known of each.
    """

    head: dict[str, Any]
    columns: tuple[Any, ...]

    @staticmethod
    def of(allocator: Allocator) -> AllocatorCopy:
        state = allocator.state
        if RULES.name_of(allocator.rule) is None:
            raise BadParameter(
                f"a snapshot names its rule, and {type(allocator.rule).__name__} has no name that "
                "a file could have: keep the events instead, and apply them again."
            )
        _, ties, held = state.heap.columns()
        head = {
            "format": FORMAT,
            "rule": rule_to_table(allocator.rule),
            "ties": to_table(state.ties, TIES),
            "by_request": state.by_request,
            "dates": allocator.dates,
            "time": state.time,
            "turn": state.turn,
            "front": _written(state.front),
            "moments": list(state.moments),
            "starts": {name: _written(level) for name, level in state.starts.items()},
        }
        known = (state.entitlement, state.received, state.asked, state.there, state.paused)
        return AllocatorCopy(
            head,
            (allocator.names[:], *(column[:] for column in known), state.memory[:], ties, held),
        )

    def people(self) -> Iterator[dict[str, Any]]:
        """What is known of each, as JSON has it, one after the other."""
        names, *others, ties, held = self.columns
        held = np.append(held, np.zeros(len(names) - len(held), dtype=bool))  # the last never were
        ties = np.append(ties, np.zeros(len(names) - len(ties)))
        columns = (names, *others, ties.tolist(), held.tolist())
        for name, entitlement, received, asked, there, paused, memory, tie, holds in zip(
            *columns, strict=True
        ):
            yield {
                "name": name,
                "entitlement": entitlement,
                "received": received,
                "asked": asked,
                "there": bool(there),
                "paused": bool(paused),
                "memory": _written(memory),
                "tie": tie if holds else None,
            }


def from_snapshot(table: Mapping[str, Any]) -> Allocator:
    """The allocator of a snapshot; refused if it is not one."""
    try:
        if table["format"] != FORMAT:
            raise KeyError
        allocator = Allocator(
            rule_of(table["rule"]),
            ties=from_table(table["ties"], TIES, "ties"),
            by_request=table["by_request"],
            dates=table["dates"],
        )
        _fill(allocator, table)
    except (KeyError, TypeError, AttributeError):
        raise BadFile(
            f"this is not a snapshot of an allocator ({FORMAT}): make one with snapshot()."
        ) from None
    return allocator


def _fill(allocator: Allocator, table: Mapping[str, Any]) -> None:
    state = allocator.state
    for place, one in enumerate(table["stakeholders"]):
        allocator.enter(one["name"])
        state.entitlement.append(one["entitlement"])
        state.received.append(one["received"])
        state.asked.append(one["asked"])
        state.there.append(one["there"])
        state.paused.append(one["paused"])
        state.memory.append(_read(one["memory"]))
        if one["tie"] is not None:
            state.heap.put(place, state.compared_index(place), one["tie"])
    state.time, state.turn, state.front = table["time"], table["turn"], _read(table["front"])
    state.moments = tuple(table.get("moments", state.moments))
    # Files of versions before this was kept have none.
    state.starts = {name: _read(level) for name, level in table.get("starts", {}).items()}


def _written(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_written(one) for one in value]
    return INFINITE.get(value, value)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(one) for one in value)
    return float(value) if isinstance(value, str) else value
