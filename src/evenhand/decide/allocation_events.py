"""What can happen to an allocator. Its state is a fold over these: a log of them is the truth."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand._util.registry import Registry
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.decide.allocator import Allocator

ALLOCATION_EVENTS = Registry("event")


@dataclass(frozen=True)
class AllocationEvent(ABC):
    """Something happens to somebody at a moment: a number, or an ISO date where times are dates."""

    of_known: ClassVar[bool] = True  # whether the stakeholder has to have joined before

    name: str
    at: float | str | None = None

    @abstractmethod
    def happen(self, allocator: Allocator, place: int) -> None:
        """Change the state of an allocator; `place` is that of the stakeholder."""

    def to_json(self) -> dict[str, Any]:
        """The event as JSON has it, such as {"event": "give", "name": "A", "amount": 1.0}."""
        fields = {spec.name: getattr(self, spec.name) for spec in dataclasses.fields(self)}
        said = {name: value for name, value in fields.items() if value is not None}
        return {"event": ALLOCATION_EVENTS.name_of(self), **said}

    @staticmethod
    def from_json(table: Mapping[str, Any]) -> AllocationEvent:
        """The event that JSON says."""
        kind = table.get("event")
        if not isinstance(kind, str):
            raise BadParameter(
                f"an event says what happened in 'event', one of "
                f"{', '.join(ALLOCATION_EVENTS.classes)}; here it is {kind!r}."
            )
        cls = ALLOCATION_EVENTS.get(kind)
        given = {name: value for name, value in table.items() if name != "event"}
        known = [spec.name for spec in dataclasses.fields(cls)]
        for name in given:
            if name not in known:
                raise BadParameter(f"a {kind} event has no {name!r}: it has {', '.join(known)}.")
        if not isinstance(given.get("name"), str):
            raise BadParameter(f"a {kind} event needs the 'name' of a stakeholder.")
        if isinstance(given.get("among"), list):
            given["among"] = tuple(given["among"])
        event: AllocationEvent = cls(**given)
        return event


@ALLOCATION_EVENTS.register("join")
@dataclass(frozen=True)
class Joined(AllocationEvent):
    """Somebody is there from now on, entitled to so much."""

    of_known = False

    entitlement: float = 1.0

    def happen(self, allocator: Allocator, place: int) -> None:
        allocator.state.add(self.entitlement, allocator.rule.number_of(self.name))


@ALLOCATION_EVENTS.register("leave")
@dataclass(frozen=True)
class Departed(AllocationEvent):
    """Somebody is not there any longer."""

    def happen(self, allocator: Allocator, place: int) -> None:
        allocator.state.leave(place)


@ALLOCATION_EVENTS.register("pause")
@dataclass(frozen=True)
class Paused(AllocationEvent):
    """Somebody is still there, and not to be chosen until it resumes."""

    def happen(self, allocator: Allocator, place: int) -> None:
        allocator.state.pause(place)


@ALLOCATION_EVENTS.register("resume")
@dataclass(frozen=True)
class Resumed(AllocationEvent):
    """Somebody may be chosen again."""

    def happen(self, allocator: Allocator, place: int) -> None:
        allocator.state.resume(place)


@ALLOCATION_EVENTS.register("entitle")
@dataclass(frozen=True)
class EntitlementChanged(AllocationEvent):
    """Somebody is entitled to another amount from now on."""

    entitlement: float = 1.0

    def happen(self, allocator: Allocator, place: int) -> None:
        allocator.state.entitle(place, self.entitlement)


@ALLOCATION_EVENTS.register("ask")
@dataclass(frozen=True)
class Asked(AllocationEvent):
    """Somebody asks for so much more."""

    amount: float = 1.0

    def happen(self, allocator: Allocator, place: int) -> None:
        allocator.state.ask(place, self.amount)


@ALLOCATION_EVENTS.register("give")
@dataclass(frozen=True)
class Given(AllocationEvent):
    """Somebody is given an amount: whoever was next, or anybody else.

    Args:
        among: Who could take it, if not all who are eligible.
    """

    amount: float = 1.0
    among: tuple[str, ...] | None = None

    def happen(self, allocator: Allocator, place: int) -> None:
        state, among = allocator.state, allocator.places(self.among)
        # The rule is asked again, so that a state that is made from the log is the same, to the
        # last draw, as one that was asked when the decision was made.
        state.first(self.amount, among)
        state.give(place, self.amount, among)
