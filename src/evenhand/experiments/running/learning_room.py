"""What learners would take up in memory, looked at before anything of it is there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax

from evenhand.errors import TooLarge
from evenhand.experiments.running.reference_scores import EPISODES
from evenhand.planning.state_table import MEMORY_LIMIT

if TYPE_CHECKING:
    from evenhand.experiments.running.run_spec import RunSpec
    from evenhand.learn.seeds import Starts

BYTES_A_STEP = 32  # of an episode that is played to be scored: random keys and rewards


def require_room_to_learn(spec: RunSpec, agent: Starts, side_by_side: int) -> None:
    """Refuse a run that would not fit into memory, and say what to make smaller.

    Args:
        spec: What is to be learned.
        agent: The agent that is made of it.
        side_by_side: How many learners are in memory at once.
    """
    learners = bytes_of_learner(agent) * side_by_side
    # Networks are scored by episodes, and so is acting at random where nothing can be planned.
    episodes = EPISODES * spec.environment.horizon * BYTES_A_STEP if spec.deep else 0
    if learners + episodes > MEMORY_LIMIT:
        many = "a learner" if side_by_side == 1 else f"{side_by_side:,} learners"
        raise TooLarge(
            f"{many} of {spec.method} would take {_gigabytes(learners)} and the episodes that score"
            f" it {_gigabytes(episodes)} (the limit is {_gigabytes(MEMORY_LIMIT)}): ask for fewer "
            "stakeholders, a shorter horizon or fewer seeds."
        )


def bytes_of_learner(agent: Starts) -> int:
    """What a learner of an agent takes: its weights or table, and the experiences it stores."""
    shapes = jax.eval_shape(agent.start, jax.random.key(0))
    return sum(map(_bytes, jax.tree.leaves(shapes)))


def _bytes(leaf: Any) -> int:
    return math.prod(leaf.shape) * int(leaf.dtype.itemsize)


def _gigabytes(size: float) -> str:
    return f"{size / 2**30:,.1f} GB"
