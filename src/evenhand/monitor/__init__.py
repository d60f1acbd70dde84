"""The monitor: a scheme that watches decisions as they happen, in memory that does not grow."""

from evenhand.monitor.monitor import Monitor

__all__ = ["Monitor"]
