"""What an entry of the log says: a pool was made, somebody joined, a decision was taken or undone.

A state is a fold over the `MemberEvent`s that these stand for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from evenhand.errors import BadStore, UnknownDecision
from evenhand.events import Event, Give, MemberEvent, Moment, Undo
from evenhand.serve.store.log_entry import LogEntry


@dataclass(frozen=True)
class PoolMade:
    """The first entry of every pool."""

    definition: Mapping[str, Any]
    kind: ClassVar[str] = "create"

    def to_json(self) -> dict[str, Any]:
        return {"event": self.kind, "definition": self.definition}


@dataclass(frozen=True)
class Decision:
    """Some are given something: those whom the rule proposes, or others for a reason.

    It is made when somebody asks, written to the log as it is, and shown as it was written.

    Args:
        shares: Who is given how much.
        at: When.
        among: Who could take it, if not all who were eligible.
        proposed: Whom the rule proposed, if these are others.
        reason: Why others were chosen; or a remark.
        because: What the rule said of each of them then.
        runner_up: Who would have been next without them, and what the rule said of it.
    """

    shares: tuple[tuple[str, float], ...]
    at: Moment = None
    among: tuple[str, ...] | None = None
    proposed: tuple[tuple[str, float], ...] | None = None
    reason: str | None = None
    because: tuple[str, ...] | None = None
    runner_up: tuple[str, str] | None = None
    kind: ClassVar[str] = "decide"

    @property
    def by_rule(self) -> bool | None:
        """Whether it is what the rule proposed; None if nobody asked it, as of imported rows."""
        return None if self.because is None else self.proposed is None

    def to_json(self) -> dict[str, Any]:
        said = {name: value for name, value in vars(self).items() if value is not None}
        return {"event": self.kind, **said}

    def gives(self) -> list[Give]:
        """What each is given, as an event of its own."""
        return [Give(name, self.at, amount, self.among) for name, amount in self.shares]

    @staticmethod
    def from_json(table: Mapping[str, Any]) -> Decision:
        """The decision that an entry of the log says."""
        said = dict(table)
        del said["event"]
        for name in ("shares", "proposed"):
            if name in said:
                said[name] = tuple([(who, amount) for who, amount in said[name]])
        for name in ("among", "because", "runner_up"):
            if name in said:
                said[name] = tuple(said[name])
        return Decision(**said)


Change = PoolMade | Decision | MemberEvent | Undo


def read_change(entry: LogEntry) -> Change:
    """What an entry of the log says."""
    try:
        table = orjson.loads(entry.body)
        if table["event"] != entry.kind:
            raise ValueError
        if entry.kind == PoolMade.kind:
            return PoolMade(table["definition"])
        if entry.kind == Decision.kind:
            return Decision.from_json(table)
        change: Change = Event.from_json(table)  # type: ignore[assignment]
        return change
    except (ValueError, KeyError, TypeError) as error:
        raise BadStore(
            f"entry {entry.number} of the pool {entry.pool!r} cannot be read ({error}): "
            "`evenhand serve --verify` finds what was changed; restore a backup."
        ) from None


def read_decision(entry: LogEntry) -> Decision:
    """The decision of an entry; refused if it is about something else."""
    change = read_change(entry)
    if not isinstance(change, Decision):
        raise UnknownDecision(
            f"entry {entry.number} of the pool {entry.pool!r} is not a decision, but "
            f"{entry.kind!r}: GET /v1/pools/{entry.pool}/decisions shows those."
        )
    return change
