"""Engines: where tables live. Each frame is asked of the engine that holds it."""

from __future__ import annotations

from evenhand.auditing.sources.engines.duckdb import DuckDB
from evenhand.auditing.sources.engines.engine import Arrays, Engine, Frame

__all__ = ["Arrays", "Engine", "Frame", "engine_of", "fetch"]


def engine_of(frame: Frame) -> Engine:
    """The engine in which a frame lives; a package is loaded only where its frames are met."""
    kind = frame.implementation
    if kind.is_duckdb():
        return DuckDB()
    if kind.is_ibis():
        from evenhand.auditing.sources.engines.ibis import of_table

        return of_table(frame.to_native())
    if kind.is_spark_like():
        from evenhand.auditing.sources.engines.spark import Spark

        return Spark()
    from evenhand.auditing.sources.engines.other import Other

    return Other()


def fetch(frame: Frame) -> Arrays:
    """What an engine worked out, as NumPy arrays; an empty place is NaN, NaT or None."""
    return engine_of(frame).fetch(frame)
