"""Any other engine that narwhals knows: its tables are read if their columns have types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import narwhals as nw
import numpy as np

from evenhand.auditing.sources.engines.engine import Arrays, Engine, Frame
from evenhand.errors import BadLog


class Other(Engine):
    """Frames of whatever kind, in the words that all share."""

    def fetch(self, frame: Frame) -> Arrays:
        eager = frame.collect()
        return {name: np.asarray(eager[name].to_numpy()) for name in eager.columns}

    def blocks(self, frame: Frame, by: Sequence[str], most: int) -> Iterator[Arrays]:
        yield self.fetch(frame.sort(*by))

    def in_utc(self, frame: Frame, column: str) -> Frame:
        utc = nw.col(column)
        if getattr(frame.collect_schema()[column], "time_zone", None) is not None:
            utc = utc.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return frame.with_columns(utc.cast(nw.Datetime("us")))

    def moments(self, frame: Frame, column: str, into: str, time_format: str | None) -> Frame:
        raise BadLog("the times are text: make them timestamps in their engine.")

    def numbers(self, frame: Frame, column: str, into: str) -> Frame:
        raise BadLog("the amounts are text: make them numbers in their engine.")

    def zones(self, frame: Frame, column: str, into: str) -> Frame:
        return frame.with_columns(nw.lit("").alias(into))
