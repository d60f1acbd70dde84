"""Whether anybody can take what is given out at each time, whatever a rule does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.moments import as_numbers, moment_label
from evenhand._util.wording import format_number
from evenhand.errors import BadLog, argument
from evenhand.log.log import Supply

if TYPE_CHECKING:
    from jaxtyping import Int


def require_takers(coming: Supply) -> None:
    """Refuse a supply to come at a time when nobody is there who asked for anything.

    What a log gave out had a taker: a receipt outside somebody's stay or beyond its requests is
    left out or refused when the log is read.

    Args:
        coming: What will be given out, who is there, and the requests.
    """
    amounts, able = coming.amounts(), possible_takers(coming)
    for slot in np.flatnonzero((amounts > 0) & (able == 0))[:1]:
        asked = " who has asked for anything" if "asked" in coming.beside else ""
        raise BadLog(
            f"at {moment_label(coming.moments[slot])} {format_number(amounts[slot])} is to come "
            f"({argument('next')}) and nobody can take it: by the roster nobody is there then"
            f"{asked}. Fix the dates of the roster or of the supply."
        )


def possible_takers(supply: Supply) -> Int[np.ndarray, " time"]:
    """How many are there at each time point and, where requests are known, had asked by then."""
    size = len(supply.names)
    first, last = supply.bounds()
    if "asked" in supply.beside:
        asked, began = supply.beside["asked"], np.full(size, np.inf)
        wants = asked.amount > 0
        np.minimum.at(began, asked.who[wants], asked.at[wants])
        first = np.maximum(first, began)
    ever, moments = first <= last, as_numbers(supply.moments)
    come = np.searchsorted(np.sort(first[ever]), moments, side="right")
    return come - np.searchsorted(np.sort(last[ever]), moments, side="left")
