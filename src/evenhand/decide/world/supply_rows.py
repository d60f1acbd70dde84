"""What was given out, asked for and who was there, as the rows of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.decide.replay.replay_supply import lots_in_order
from evenhand.decide.world.time_blocks import TimeBlocks
from evenhand.envs.log_world import require_learnable
from evenhand.log.log import Supply

if TYPE_CHECKING:
    from jaxtyping import Bool


def rows_of_supply(
    supply: Supply, blocks: TimeBlocks, assessed: Bool[np.ndarray, " time"]
) -> dict[str, Any]:
    """The fields of `LogRows`, for the time points that lie in whole blocks.

    Args:
        supply: What was given out, and who could have received it.
        blocks: The time points in blocks.
        assessed: At which time points it is assessed.
    """
    return {
        "names": supply.names,
        **_lots(supply, blocks, assessed),
        **_requests(supply, blocks),
        "stays": _stays(supply, blocks),
        "origin": blocks.origin,
        "block": blocks.length,
        "num_phases": blocks.num_phases,
        "plain_numbers": blocks.plain_numbers,
        "last": float(as_numbers(supply.moments[blocks.kept])[-1]),
    }


def _lots(
    supply: Supply, blocks: TimeBlocks, assessed: Bool[np.ndarray, " time"]
) -> dict[str, Any]:
    """The lots of the time points that are kept; where there are none, one of 0."""
    slot, amount = lots_in_order(supply)
    none = np.setdiff1d(np.arange(len(supply.moments)), slot)
    require_learnable(len(supply.names), len(slot) + len(none), len(supply.moments))
    slot = np.concatenate((slot, none))
    amount = np.concatenate((amount, np.zeros(len(none))))
    order = np.argsort(slot, kind="stable")
    order = order[blocks.kept[slot[order]]]
    place = np.cumsum(blocks.kept) - 1
    slots = place[slot[order]]
    return {
        "lots": tuple(amount[order].tolist()),
        "slots": tuple(slots.tolist()),
        "phases": tuple(blocks.phase.tolist()),
        "assessed": tuple(assessed[blocks.kept].tolist()),
        "blocks": tuple(np.flatnonzero(np.diff(blocks.block[slots], prepend=-1)).tolist()),
    }


def _requests(supply: Supply, blocks: TimeBlocks) -> dict[str, Any]:
    """Who asked for how much by which of the time points that are kept."""
    if "asked" not in supply.beside:
        return {}
    asked = supply.beside["asked"]
    kept = as_numbers(supply.moments[blocks.kept])
    slot = np.searchsorted(kept, asked.at, side="left")
    here = (slot < len(kept)) & (asked.amount > 0)
    found = zip(
        slot[here].tolist(), asked.who[here].tolist(), asked.amount[here].tolist(), strict=True
    )
    return {"by_request": True, "requests": tuple(found)}


def _stays(supply: Supply, blocks: TimeBlocks) -> tuple[tuple[int, int], ...]:
    """The first and last time point at which each is there, if anybody comes or goes."""
    present = supply.present()[blocks.kept]
    if present.all():
        return ()
    last = len(present) - 1
    return tuple(
        (int(np.argmax(here)), last - int(np.argmax(here[::-1]))) if here.any() else (1, 0)
        for here in present.T
    )
