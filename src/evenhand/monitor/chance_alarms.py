"""Alarms of a monitor: somebody is behind by more than a lottery explains, at any look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.chance.alarm import AlarmWatch, RaisedAlarm
from evenhand.auditing.chance.nulls import OddsOverTime
from evenhand.monitor.batch import Batch

if TYPE_CHECKING:
    from jaxtyping import Float


class Alarms:
    """A watch fed with the events of a monitor, each of them a lot.

    Args:
        names: All stakeholders.
        alpha: The probability of ever raising a false alarm, over all looks and stakeholders.
        odds: The odds of each at any moment.
        groups: The group of each, if groups are watched too.
        less_is_better: Whether to be behind is to receive more.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        alpha: float,
        odds: OddsOverTime,
        groups: Sequence[str] | None,
        less_is_better: bool,
    ) -> None:
        self.alpha, self.groups = alpha, groups
        self._odds = odds
        self._watch = AlarmWatch(names, alpha, odds, groups, less_is_better)

    @property
    def raised(self) -> bool:
        return self._watch.raised

    def take(self, at: Float[np.ndarray, " event"], batch: Batch) -> None:
        """Take events into account, at the time points at which they count.

        A late event counts at the present time point, and its bet is by the odds of its own time.
        """
        self._odds.plain_numbers = batch.plain_numbers
        self._watch.take(at, batch.who, batch.amount, batch.at)

    def close(self) -> None:
        """The events are over."""
        self._watch.close()

    def new(self, plain_numbers: bool) -> list[RaisedAlarm]:
        """The alarms that were not asked for before."""
        return [RaisedAlarm.of(one, plain_numbers) for one in self._watch.new_alarms()]

    def summary(self, plain_numbers: bool) -> dict[str, Any]:
        """All alarms, and how much evidence there is now."""
        raised = [RaisedAlarm.of(one, plain_numbers).to_json() for one in self._watch.alarms]
        return {"alarms": raised, "evidence": self._watch.evidence, "needed": 1 / self.alpha}

    def watches(self) -> dict[str, Any]:
        """What must be the same when a monitor goes on."""
        return {"alpha": self.alpha, "groups": None if self.groups is None else list(self.groups)}

    def snapshot(self) -> dict[str, Any]:
        """All that is needed to go on."""
        return self._watch.snapshot()

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where others stopped."""
        self._watch.resume(snapshot)
