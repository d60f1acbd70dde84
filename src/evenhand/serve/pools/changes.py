"""What an entry of the log says: a pool was made, somebody joined, a decision was taken or undone.

A state is a fold over the `MemberEvent`s that these stand for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from evenhand.errors import BadStore
from evenhand.events import Give, MemberEvent
from evenhand.serve.store.log_entry import LogEntry

Moment = float | str | None


class Change(ABC):
    """Something that an entry of the log records."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What happened in a word."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What happened as JSON has it; "event" is its kind."""

    def events(self) -> Sequence[MemberEvent]:
        """What it means for who is next."""
        return ()

    def body(self) -> str:
        return orjson.dumps(self.to_json()).decode()


@dataclass(frozen=True)
class PoolMade(Change):
    """The first entry of every pool."""

    definition: Mapping[str, Any]
    kind: ClassVar[str] = "create"

    def to_json(self) -> dict[str, Any]:
        return {"event": self.kind, "definition": self.definition}


@dataclass(frozen=True)
class Happened(Change):
    """Something that is not a decision: somebody joined, left, paused, resumed, asked."""

    event: MemberEvent

    @property
    def kind(self) -> str:
        return str(self.to_json()["event"])

    def to_json(self) -> dict[str, Any]:
        return self.event.to_json()

    def events(self) -> Sequence[MemberEvent]:
        return (self.event,)


@dataclass(frozen=True)
class DecisionTaken(Change):
    """Some were given something: those whom the rule proposed, or others for a reason.

    Args:
        shares: Who was given how much.
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

    def events(self) -> Sequence[MemberEvent]:
        return [Give(name, self.at, amount, self.among) for name, amount in self.shares]


@dataclass(frozen=True)
class DecisionUndone(Change):
    """A decision counts as not taken from now on. It stays in the log, and so does this."""

    number: int
    reason: str | None = None
    kind: ClassVar[str] = "undo"

    def to_json(self) -> dict[str, Any]:
        said = {} if self.reason is None else {"reason": self.reason}
        return {"event": self.kind, "number": self.number, **said}


def read_change(entry: LogEntry) -> Change:
    """What an entry of the log says."""
    try:
        table = orjson.loads(entry.body)
        if table["event"] != entry.kind:
            raise ValueError
        if entry.kind == PoolMade.kind:
            return PoolMade(table["definition"])
        if entry.kind == DecisionTaken.kind:
            return _decision(table)
        if entry.kind == DecisionUndone.kind:
            return DecisionUndone(table["number"], table.get("reason"))
        return Happened(MemberEvent.from_json(table))
    except (ValueError, KeyError, TypeError) as error:
        raise BadStore(
            f"entry {entry.number} of the pool {entry.pool!r} cannot be read ({error}): "
            "`evenhand serve --verify` finds what was changed; restore a backup."
        ) from None


def _decision(table: Mapping[str, Any]) -> DecisionTaken:
    said = {name: value for name, value in table.items() if name != "event"}
    for name in ("shares", "proposed"):
        if name in said:
            said[name] = tuple((who, amount) for who, amount in said[name])
    for name in ("among", "because", "runner_up"):
        if name in said:
            said[name] = tuple(said[name])
    return DecisionTaken(**said)
