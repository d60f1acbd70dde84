"""What assessments found: as objects for Python, or as JSON lines, which must be quick."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

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


def key_of(name: str) -> bytes:
    """The beginning of a member of a JSON object, after another member."""
    return b"," + orjson.dumps(name) + b":"


def _numbers(values: np.ndarray) -> list[bytes]:
    return orjson.dumps(values.tolist())[1:-1].split(b",") if len(values) else []
