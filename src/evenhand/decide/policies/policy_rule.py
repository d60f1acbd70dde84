"""Decision 18: a learned or planned policy is a rule: of those eligible, whoever is worth most.

A policy knows stakeholders apart and remembers all of them together, so its values are worked out
anew for all who are eligible at each decision, and stand in the memories by which a state ranks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.wording import format_number, pluralise
from evenhand.decide.policies.decision_setting import RealDecision
from evenhand.decide.policies.policy_choices import PolicyChoices
from evenhand.decide.rules.priority_heap import Standings
from evenhand.decide.rules.rule import Entrant, Instant, Remembered, Rule
from evenhand.decide.rules.rule_state import RuleState
from evenhand.decide.rules.ties import TieBreak
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class PolicyRule(Rule):
    """Of those eligible, whoever it is worth most to serve, by a learned or planned policy.

    Args:
        choices: What each choice is worth.
        name: What the policy is called.
    """

    plans_next = False
    learned = True

    choices: PolicyChoices
    name: str

    def new_state(self, ties: TieBreak | None = None, by_request: bool = False) -> RuleState:
        return PolicyState(self, ties, by_request)

    def fitted(self, plain_numbers: bool) -> Rule:
        self.choices.setting.require_times(plain_numbers, self.name)
        return self

    def learned_from(self, moments: np.ndarray) -> bool:
        return self.choices.setting.learned_from(moments)

    def number_of(self, name: str) -> int | None:
        return self.choices.setting.number_of(name)

    def require_supply(self, stakeholders: int, amounts: Float[np.ndarray, " lot"]) -> None:
        choices = self.choices
        choices.setting.require_number(
            choices.num_stakeholders, stakeholders, self.name, choices.kind
        )
        lot = choices.setting.lot
        for amount in amounts[(amounts != lot) & (amounts != 0)][: lot is not None]:
            self.require_lot(float(amount))
        self.require_turn(int((amounts != 0).sum()) - 1)

    def require_lot(self, amount: float) -> None:
        """Refuse an amount that the environment of the policy never gives."""
        lot = self.choices.setting.lot
        if lot is not None and amount != lot:
            raise BadParameter(
                f"{self.name} decides lots of {format_number(lot)}, and here "
                f"{format_number(amount)} is given out at once: name another rule."
            )

    def require_turn(self, turn: int) -> None:
        """Refuse more decisions than the policy was made for."""
        horizon = self.choices.horizon
        if horizon is not None and turn >= horizon:
            raise BadParameter(
                f"{self.name} was made for {pluralise(horizon, 'decision')}, and here are more: "
                f"make a {self.choices.kind} with a longer horizon, or name another rule."
            )

    # What is remembered: what was received, how far the value of choosing this one is below the
    # highest, and the value.
    def begin(self, entrant: Entrant) -> Remembered:
        return (0.0, 0.0, 0.0)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (memory[0] + amount, *memory[1:])

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[1]

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        received, short, value = memory
        worth = f"to choose it is worth {value:.6g}"
        least = "as much as any choice" if short == 0 else f"{short:.3g} less than the best choice"
        return f"has received {format_number(received)}, and {worth}, {least}"

    def describe(self) -> str:
        remembers = self.choices.problem.memory.describe()
        return (
            f"whoever it is worth most to choose by the {self.choices.kind} {self.name}, which "
            f"remembers {remembers}"
        )


class PolicyState(RuleState):
    """A policy at work. Those eligible are who is present in the policy's environment.

    Args:
        rule: The policy.
        ties: How ties are broken.
        by_request: Whether only those are eligible who asked for more than they received.
    """

    rule: PolicyRule

    def __init__(
        self, rule: PolicyRule, ties: TieBreak | None = None, by_request: bool = False
    ) -> None:
        super().__init__(rule, ties, by_request)
        self.course = rule.choices.start()
        self._lot = 0.0  # what is to be given; of a lot that is split, what is left
        self._numbers: list[int] = []  # which of the policy's stakeholders each place is

    def require_entrant(self, number: int | None) -> None:
        size = self.rule.choices.num_stakeholders
        if (len(self.memory) if number is None else number) >= size:
            raise BadParameter(
                f"{self.rule.name} was made for {pluralise(size, 'stakeholder')}, and one more "
                "would join: make one for as many, or choose another rule."
            )

    def add(self, entitlement: float = 1.0, number: int | None = None) -> int:
        self.require_entrant(number)
        self._numbers.append(len(self.memory) if number is None else number)
        return super().add(entitlement)

    def first(self, amount: float = 1.0, among: Iterable[int] | None = None) -> int | None:
        self._lot = amount or self._lot
        able = self._able(amount, among)
        self._weigh(able)
        return min(able, key=self.heap.entry, default=None)  # type: ignore[arg-type]

    def order(self, among: Iterable[int] | None = None) -> list[int]:
        self._weigh_if_going_on(self._able(0.0, among))
        return super().order(among)

    def ranked(self, among: Iterable[int] | None = None) -> Standings:
        able = self._able(0.0, among)
        self._weigh_if_going_on(able)
        return Standings(self.heap, able)

    def give(self, place: int, amount: float, among: Iterable[int] | None = None) -> None:
        self.rule.require_lot(amount)
        self.rule.require_turn(self.course.decided)
        decision = self._decision([*self._able(amount, among), place], amount)
        self.course = self.rule.choices.after(self.course, decision, self._numbers[place])
        self._lot = max(0.0, self._lot - amount)
        super().give(place, amount, among)

    @contextlib.contextmanager
    def trial(self) -> Iterator[None]:
        now = self.course, self._lot
        with super().trial():
            try:
                yield
            finally:
                self.course, self._lot = now

    @contextlib.contextmanager
    def facing(self, amount: float | None) -> Iterator[None]:
        before, self._lot = self._lot, self._lot if amount is None else amount
        try:
            yield
        finally:
            self._lot = before

    def _able(self, amount: float, among: Iterable[int] | None) -> list[int]:
        """Those who are eligible and can take an amount whole."""
        return [place for place in self._held(among) if self.fits(place, amount)]

    def _decision(self, places: Iterable[int], amount: float) -> RealDecision:
        """What is to be decided, with those at these places eligible."""
        size = self.rule.choices.num_stakeholders
        eligible, wanted = np.zeros(size, dtype=bool), np.zeros(size)
        eligible[[self._numbers[place] for place in places]] = True
        wanted[self._numbers] = [self.room(place) for place in range(len(self._numbers))]
        return RealDecision(eligible, wanted, amount, self.time)

    def _weigh_if_going_on(self, able: list[int]) -> None:
        """After the last decision everybody can still be asked where they stand: as they did."""
        horizon = self.rule.choices.horizon
        if horizon is None or self.course.decided < horizon:
            self._weigh(able)

    def _weigh(self, able: list[int]) -> None:
        """Set what it is worth to choose each."""
        if not able:
            return
        self.rule.require_turn(self.course.decided)
        amount = self._lot or self.rule.choices.setting.usual_lot
        values = self.rule.choices.values(self.course, self._decision(able, amount))
        own = {place: float(values[self._numbers[place]]) for place in able}
        highest, close = max(own.values()), self.rule.choices.close
        for place, value in own.items():
            self._keep(place)
            short = 0.0 if highest - value <= close else highest - value
            self.memory[place] = (self.memory[place][0], short, value)
            self._put(place)
