"""How many requests a second are answered, for each token."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

MOST_REMEMBERED = 10_000


@dataclass
class _Bucket:
    left: float
    at: float


class RateLimit:
    """A bucket of requests for each who asks, which fills up steadily.

    Args:
        per_second: How many requests a second are answered for good.
        burst: How many may come at once, if none came before.
    """

    def __init__(self, per_second: float, burst: float | None = None) -> None:
        self.per_second = per_second
        self.burst = 2 * per_second if burst is None else burst
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, who: str, now: float | None = None) -> float:
        """Take one request from the bucket: 0, or for how many seconds there is none.

        >>> limit = RateLimit(1.0, burst=1)
        >>> limit.wait("A", now=0.0), limit.wait("A", now=0.25), limit.wait("A", now=1.5)
        (0.0, 0.75, 0.0)
        """
        moment = time.monotonic() if now is None else now
        bucket = self._buckets.setdefault(who, _Bucket(self.burst, moment))
        self._buckets.move_to_end(who)
        if len(self._buckets) > MOST_REMEMBERED:
            self._buckets.popitem(last=False)
        bucket.left = min(self.burst, bucket.left + (moment - bucket.at) * self.per_second)
        bucket.at = moment
        if bucket.left >= 1.0:
            bucket.left -= 1.0
            return 0.0
        return (1.0 - bucket.left) / self.per_second
