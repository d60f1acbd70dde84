"""What is left of requests: one definition for the audit, chance, the best there was and rules."""

from __future__ import annotations

from typing import Any

MET = 1e-9  # of what was asked for: what came in many small parts does not add up exactly


def open_amount(asked: Any, received: Any) -> Any:
    """How much is still wanted: numbers, or arrays of them.

    >>> open_amount(3.0, 1.0), open_amount(100.0, sum([0.1] * 1000))
    (2.0, 0.0)
    """
    left = asked - received
    return left * (left > MET * asked)


def most_with(asked: Any) -> Any:
    """How much may be received with such requests, as far as numbers can be told apart."""
    return asked + MET * asked
