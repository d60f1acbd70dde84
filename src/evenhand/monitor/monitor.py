"""One scheme, its running state, and a line for each assessment.

Events at one time are one time point, and a time point (or a calendar period) is judged once a
later event shows that it is over. **Late**: an event earlier than one before it counts at the
present time point, since what was assessed is not assessed again. **Repeated**: an event whose id
was seen before does not count; without ids every event counts, as in `audit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.wording import format_number, join_tied
from evenhand.auditing.judging.calendar import Period
from evenhand.auditing.judging.questions import EveryPeriod, Question
from evenhand.auditing.judging.ranking import Standing
from evenhand.auditing.judging.running_totals import Tally
from evenhand.auditing.reading.moments import moment_labels
from evenhand.auditing.reading.roster import Roster, presence
from evenhand.errors import BadParameter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.stream import Block
from evenhand.fairness.trace import Trace
from evenhand.monitor.findings import Findings, Line, key_of
from evenhand.monitor.json_reader import Batch

if TYPE_CHECKING:
    from jaxtyping import Float

STEPS = 4096  # periods taken at once, however long a gap in the events is


class Monitor:
    """Takes events as they come, and says at each assessment how things stand.

    >>> from evenhand import Rawls, anytime
    >>> monitor = Monitor(anytime(Rawls()), ("A", "B"))
    >>> lines = monitor.take(Batch(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]), np.ones(3)))
    >>> [(line["time"], line["score"], line["unfair_to"]) for line in lines]
    [('1', 0.0, {'B': -0.5}), ('2', 0.5, {})]
    """

    def __init__(
        self,
        scheme: FairnessScheme,
        names: tuple[str, ...],
        question: Question | None = None,
        roster: Roster | None = None,
        max_unfairness: float | None = None,
        min_score: float | None = None,
    ) -> None:
        self.names, self.roster = names, roster
        self.judged_names = scheme.status.names(names)
        self._name_array = np.array(self.judged_names, dtype=object)
        self._key_array = np.array([key_of(name) for name in self.judged_names], dtype=object)
        if roster is not None and roster.dated and self.judged_names != names:
            raise BadParameter("a roster with dates cannot be watched by group: leave one out.")
        self.stream = scheme.stream(len(names))
        self.tally = Tally(len(self.judged_names))
        self.period: Period | None = question.period if isinstance(question, EveryPeriod) else None
        self.max_unfairness, self.min_score = max_unfairness, min_score
        self.plain_numbers = True  # until the first event says otherwise
        self.last_at = -np.inf  # the latest event, and so the open time point
        self.open = np.zeros(len(names))  # what was received at it, or in its period
        self.late = 0
        self.outside = 0  # events outside their stakeholder's stay
        self.alerts = 0
        self._alarmed = False

    @property
    def begun(self) -> bool:
        return self.last_at > -np.inf

    def take(self, batch: Batch) -> list[Line]:
        """Take events into account; a line for each assessment that they complete."""
        return [line for findings in self.found(batch) for line in findings.lines()]

    def finish(self) -> list[Line]:
        """The events are over: judge what is open, unless it is an unfinished period."""
        return [line for findings in self.found_at_end() for line in findings.lines()]

    def found(self, batch: Batch) -> list[Findings]:
        """The same as `take`, with the assessments still together."""
        batch = self._inside(batch)
        if not len(batch.at):
            return []
        self._refuse_numbers()
        at = np.maximum(np.maximum.accumulate(batch.at), self.last_at)
        self.late += int((batch.at < at).sum())
        before = at[:1] if not self.begun else np.array([self.last_at])
        keys = self._key(np.concatenate((before, at)))
        steps = np.unique(keys)
        place = np.searchsorted(steps, keys[1:]) * len(self.names) + batch.who
        received = np.bincount(place, batch.amount, minlength=len(steps) * len(self.names))
        received = received.reshape(len(steps), len(self.names))
        received[0] += self.open
        found = self._closed(steps, received)
        self.open, self.last_at = received[-1], float(at[-1])
        return found

    def found_at_end(self) -> list[Findings]:
        """The same as `finish`, with the assessments still together."""
        if not self.begun:
            return []
        found: list[Findings] = []
        key = self._key(np.array([self.last_at]))
        if self.period is None or self.period.last_day(key)[0] <= self._days(self.last_at):
            found += self._judged(key, self.open[None])
            self.open = np.zeros(len(self.names))
        end = self.stream.end(self._present(key, last=True))
        return found + (self._findings(end, key) if end is not None else [])

    def summary(self) -> Line:
        """How things stand over all."""
        tally = self.tally
        final = self.stream.status if self.stream.steps else np.zeros(len(self.judged_names))
        return {
            "assessments": tally.assessments,
            "score": self.stream.score if tally.assessments else None,
            "alerts": self.alerts,
            "late": self.late,
            "outside_roster_dates": self.outside,
            "stakeholders": [
                {
                    "name": name,
                    "final": float(final[i]),
                    "last_unfairness": None if np.isnan(tally.last[i]) else float(tally.last[i]),
                    "overall_unfairness": float(tally.overall[i]),
                    "share_below": float(tally.share_below[i]),
                    "longest_spell": int(tally.longest[i]),
                }
                for i, name in enumerate(self.judged_names)
            ],
        }

    def _closed(self, steps: np.ndarray, received: Float[np.ndarray, "step n"]) -> list[Findings]:
        """Judge every step but the last, which is still open, and the empty periods between."""
        if self.period is None:
            return self._judged(steps[:-1], received[:-1])
        found = []
        for k in range(len(steps) - 1):
            gap = np.arange(steps[k], steps[k + 1])
            for start in range(0, len(gap), STEPS):
                some = np.zeros((len(gap[start : start + STEPS]), len(self.names)))
                if start == 0:
                    some[0] = received[k]
                found += self._judged(gap[start : start + STEPS], some)
        return found

    def _judged(self, keys: np.ndarray, received: Float[np.ndarray, "step n"]) -> list[Findings]:
        if not len(keys):
            return []
        # Every step is over, so each carries the mark of a finished period.
        trace = Trace(rewards=received, actions=np.ones(len(keys), dtype=bool))  # type: ignore[arg-type]
        found, start = [], 0
        for block in self.stream.blocks(trace, self._present(keys)):
            here = keys[start : start + len(block.assessed)][block.assessed]
            start += len(block.assessed)
            found += self._findings(block, here)
        return found

    def _findings(self, block: Block, keys: np.ndarray) -> list[Findings]:
        if not len(block.statuses):
            return []
        scores, before = self.stream.running(block), self.tally.assessments
        deviation, below = self.tally.take(block)
        rows, places = np.nonzero(below)
        return [
            Findings(
                number=before,
                times=self._labels(keys),
                scores=scores,
                welfare=block.contributions if block.contributions.ndim == 1 else scores,
                who=places,
                far=deviation[rows, places],
                ends=np.cumsum(below.sum(axis=1)),
                names=self._name_array,
                keys=self._key_array,
                alerts=self._alerts(block, deviation, scores),
            )
        ]

    def _alerts(
        self, block: Block, deviation: Float[np.ndarray, "k n"], scores: Float[np.ndarray, " k"]
    ) -> dict[int, Line]:
        """What is past a threshold; an alert begins where the assessment before had none."""
        reasons: dict[int, list[str]] = {}
        if self.max_unfairness is not None:
            lowest = np.nanmin(deviation, axis=1)
            for k in np.flatnonzero(-lowest > self.max_unfairness).tolist():
                lowest_here = Standing.of(deviation[k], block.statuses[k]).lowest
                names = [self.judged_names[place] for place in lowest_here]
                are = "is" if len(names) == 1 else "are"
                far = f"{join_tied(names)} {are} {format_number(-float(lowest[k]))} below the mean"
                reasons.setdefault(k, []).append(
                    f"{far}, more than {format_number(self.max_unfairness)}"
                )
        if self.min_score is not None:
            for k in np.flatnonzero(scores < self.min_score).tolist():
                low = f"the score is {format_number(float(scores[k]))}"
                reasons.setdefault(k, []).append(f"{low}, below {format_number(self.min_score)}")
        found: dict[int, Line] = {}
        for k in sorted(reasons):
            begins = k - 1 not in reasons if k else not self._alarmed
            found[k] = {"alert": reasons[k], "alert_begins": begins}
        self._alarmed = len(scores) - 1 in reasons
        self.alerts += len(reasons)
        return found

    def _inside(self, batch: Batch) -> Batch:
        """Without events outside their stakeholder's stay, which `audit` does not count either."""
        if self.roster is None or not self.roster.dated or not len(batch.at):
            return batch
        first, last = self.roster.bounds(self.names, self.plain_numbers)
        inside = (batch.at >= first[batch.who]) & (batch.at <= last[batch.who])
        self.outside += int((~inside).sum())
        return Batch(batch.at[inside], batch.who[inside], batch.amount[inside])

    def _key(self, at: np.ndarray) -> np.ndarray:
        """The step that each moment belongs to: itself, or the number of its period."""
        return at if self.period is None else self.period.number(self._days(at))

    def _days(self, at: Any) -> np.ndarray:
        return np.asarray(at).astype(np.int64).astype("datetime64[us]").astype("datetime64[D]")

    def _moments(self, keys: np.ndarray) -> np.ndarray:
        """When each step is judged."""
        if self.period is not None:
            return (self.period.last_day(keys) + 1).astype("datetime64[us]") - 1
        return keys if self.plain_numbers else keys.astype(np.int64).astype("datetime64[us]")

    def _labels(self, keys: np.ndarray) -> list[str]:
        if self.period is not None:
            return [self.period.label(int(key)) for key in keys]
        return moment_labels(self._moments(keys))

    def _present(self, keys: np.ndarray, last: bool = False) -> Any:
        here = presence(self.roster, self.names, self._moments(keys))
        return here if here is None or not last else here[-1]

    def _refuse_numbers(self) -> None:
        if self.period is not None and self.plain_numbers:
            raise BadParameter(
                f"--every {self.period.name} needs dates, and the times are plain numbers: use "
                "--every N for every N time points."
            )
