"""Counts and times in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class ServiceMetrics:
    """What was asked, how it was answered, and how long that took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is its path without what is different each time."""
        self.requests[method, route, status] += 1
        self._buckets[bisect_left(BOUNDS, seconds)] += 1
        self._seconds += seconds

    def text(self, gauges: dict[str, float]) -> str:
        """All of it, with other numbers of the moment by name."""
        lines = ["# TYPE evenhand_requests_total counter"]
        for (method, route, status), count in sorted(self.requests.items()):
            labels = f'method="{method}",route="{_escaped(route)}",status="{status}"'
            lines.append(f"evenhand_requests_total{{{labels}}} {count}")
        lines.append("# TYPE evenhand_request_seconds histogram")
        total = 0
        for bound, count in zip((*BOUNDS, "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'evenhand_request_seconds_bucket{{le="{bound}"}} {total}')
        lines.append(f"evenhand_request_seconds_sum {self._seconds!r}")
        lines.append(f"evenhand_request_seconds_count {total}")
        for name, value in gauges.items():
            lines += [f"# TYPE evenhand_{name} gauge", f"evenhand_{name} {value!r}"]
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
