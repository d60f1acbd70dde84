"""What assessments found: as objects for Python, or as JSON lines, which must be quick; alerts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from evenhand._util.wording import join_tied, tell_apart
from evenhand.auditing.scoring import Ranking
from evenhand.auditing.verdict import Direction
from evenhand.fairness.stream import Block
from evenhand.fairness.trace import Tolerance
from evenhand.fairness.unfairness import ROUNDING
from evenhand.log.options import require_limit

if TYPE_CHECKING:
    from jaxtyping import Float

Line = dict[str, Any]


@dataclass(frozen=True)
class MonitoredAssessment:
    """What one assessment found."""

    number: int  # from 1
    time: str
    score: float  # so far
    welfare: float  # at this time
    unfair_to: dict[str, float]  # those below the mean, and how far
    alert: tuple[str, ...] = ()  # the thresholds that are passed, in words
    alert_begins: bool = False  # the assessment before had no alert

    def to_json(self) -> Line:
        """The same as plain values."""
        line = {
            "assessment": self.number,
            "time": self.time,
            "score": self.score,
            "welfare": self.welfare,
            "unfair_to": self.unfair_to,
        }
        if self.alert:
            line |= {"alert": list(self.alert), "alert_begins": self.alert_begins}
        return line


@dataclass(frozen=True, eq=False)
class Findings:
    """Assessments in order. Those below the mean are listed one after the other, up to each end."""

    number: int  # of assessments before these
    times: list[str]
    scores: np.ndarray
    welfare: np.ndarray
    who: np.ndarray  # place of each one below, and
    far: np.ndarray  # how far
    ends: np.ndarray
    names: np.ndarray
    keys: np.ndarray  # each name as the beginning of a JSON member: b',"North":'
    alerts: dict[int, dict[str, Any]] = field(default_factory=dict)

    def each(self) -> list[MonitoredAssessment]:
        """An object for each assessment."""
        names, far = self.names[self.who].tolist(), self.far.tolist()
        starts, ends = [0, *self.ends[:-1].tolist()], self.ends.tolist()
        return [
            MonitoredAssessment(
                number=self.number + k + 1,
                time=time,
                score=float(self.scores[k]),
                welfare=float(self.welfare[k]),
                unfair_to=dict(zip(names[start:stop], far[start:stop], strict=True)),
                **self.alerts.get(k, {}),
            )
            for k, (time, start, stop) in enumerate(zip(self.times, starts, ends, strict=True))
        ]

    def encoded(self, only_alerts: bool = False) -> bytes:
        """The same as JSON lines; all numbers are written at once, and then cut apart."""
        members: list[bytes] = [b""] * (2 * len(self.far))
        members[::2], members[1::2] = self.keys[self.who].tolist(), _numbers(self.far)
        starts, ends = [0, *self.ends[:-1].tolist()], self.ends.tolist()
        rows = zip(
            orjson.dumps(self.times)[2:-2].split(b'","'),
            _numbers(self.scores),
            _numbers(self.welfare),
            starts,
            ends,
            strict=True,
        )
        out = []
        for k, (time, score, welfare, start, stop) in enumerate(rows):
            if only_alerts and k not in self.alerts:
                continue
            more = b"," + orjson.dumps(self.alerts[k])[1:-1] if k in self.alerts else b""
            below = b"".join(members[2 * start : 2 * stop])[1:]
            out.append(
                b'{"assessment":%d,"time":"%b","score":%b,"welfare":%b,"unfair_to":{%b}%b}\n'
                % (self.number + k + 1, time, score, welfare, below, more)
            )
        return b"".join(out)


class Thresholds:
    """What an alert is raised for, how many there were, and whether the last assessment had one.

    Args:
        names: Those who are judged.
        direction: Whether to be worse off is to lie below the mean or above it.
        max_unfairness: How far anybody may be from the mean: an amount, or a share such as "10%".
        min_score: The least that the score may be.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        direction: Direction,
        max_unfairness: float | str | None,
        min_score: float | None,
    ) -> None:
        self.names, self.direction = names, direction
        self.max_unfairness: Tolerance | None = None
        if max_unfairness is not None:
            self.max_unfairness = Tolerance.read(max_unfairness, "max_unfairness")
        require_limit(min_score, "min_score")
        self.min_score = min_score
        self.alerts = 0
        self.alarmed = False  # whether the last assessment had an alert

    def take(
        self, block: Block, deviation: Float[np.ndarray, "k n"], scores: Float[np.ndarray, " k"]
    ) -> dict[int, Line]:
        """What is past a threshold; an alert begins where the assessment before had none."""
        reasons: dict[int, list[str]] = {}
        if self.max_unfairness is not None:
            place = np.arange(len(deviation)), np.nanargmin(deviation, axis=1)
            lowest = deviation[place]
            mean = block.statuses[place] - lowest
            most = self.max_unfairness.around(mean)
            largest = np.nanmax(np.abs(deviation + mean[:, None]), axis=1)
            # By more than rounding: whoever is just at the limit keeps it.
            for k in np.flatnonzero(-lowest > most + ROUNDING * largest).tolist():
                lowest_here = Ranking.of(deviation[k], block.statuses[k]).lowest
                names = [self.names[place] for place in lowest_here]
                are = "is" if len(names) == 1 else "are"
                far, limit = tell_apart(-float(lowest[k]), float(most[k]))
                reasons.setdefault(k, []).append(
                    f"{join_tied(names)} {are} {far} {self.direction.worse} the mean, "
                    f"more than {limit}"
                )
        if self.min_score is not None:
            for k in np.flatnonzero(scores < self.min_score).tolist():
                low, least = tell_apart(float(scores[k]), self.min_score)
                reasons.setdefault(k, []).append(f"the score is {low}, below {least}")
        found: dict[int, Line] = {}
        for k in sorted(reasons):
            begins = k - 1 not in reasons if k else not self.alarmed
            found[k] = {"alert": tuple(reasons[k]), "alert_begins": begins}
        self.alarmed = len(scores) - 1 in reasons
        self.alerts += len(reasons)
        return found

    def snapshot(self) -> Line:
        """All that is needed to go on."""
        return {"alerts": self.alerts, "alarmed": self.alarmed}

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where others stopped."""
        self.alerts, self.alarmed = snapshot["alerts"], snapshot["alarmed"]


def key_of(name: str) -> bytes:
    """The beginning of a member of a JSON object, after another member."""
    return b"," + orjson.dumps(name) + b":"


def _numbers(values: np.ndarray) -> list[bytes]:
    return orjson.dumps(values.tolist())[1:-1].split(b",") if len(values) else []
