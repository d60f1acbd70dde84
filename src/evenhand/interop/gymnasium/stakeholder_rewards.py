"""Definition 1, R_i(s, a, s'): what each stakeholder received, from what an environment returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

from evenhand.errors import NoStakeholderRewards, NotFinite, UnequalLengths
from evenhand.fairness.trace import Override

if TYPE_CHECKING:
    from jaxtyping import Float


class EnvStep(NamedTuple):
    """One decision in a Gymnasium environment: what went in, and what came out."""

    observation: Any
    action: Any
    following: Any
    reward: Any
    info: dict[str, Any]


# What each stakeholder received in a step: any function of the step.
StakeholderRewards = Callable[[EnvStep], Any]


@dataclass(frozen=True)
class FromReward:
    """The reward is a vector with a number for each stakeholder, as MO-Gymnasium has it."""

    def __call__(self, step: EnvStep) -> Any:
        return step.reward


@dataclass(frozen=True)
class FromInfo:
    """An entry of `info` has a number for each stakeholder, as our own environments have it."""

    entry: str = "stakeholder_rewards"

    def __call__(self, step: EnvStep) -> Any:
        if self.entry not in step.info:
            known = ", ".join(step.info) or "nothing"
            raise NoStakeholderRewards(
                f"info has no {self.entry!r} (it has {known}): name the entry with FromInfo, or "
                "give a function of the EnvStep as stakeholder_rewards."
            )
        return step.info[self.entry]


def stakeholder_rewards_of(env: gymnasium.Env) -> StakeholderRewards:
    """Where this environment says what each received, if it is one of those that do."""
    if attribute(env, "world", None) is not None:  # ours have it in info, whatever the reward
        return FromInfo()
    space = attribute(env, "reward_space", None)
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return FromReward()
    if attribute(env, "num_stakeholders", None) is not None:
        return FromInfo()
    raise NoStakeholderRewards(
        "the environment has one reward for all and does not say what each stakeholder received: "
        "give stakeholder_rewards, a function of an EnvStep (see "
        "evenhand.interop.gymnasium.stakeholder_rewards)."
    )


def num_stakeholders_of(env: gymnasium.Env, given: int | None) -> int:
    """How many stakeholders there are, as given or as the environment says."""
    if given is not None:
        return given
    number = attribute(env, "num_stakeholders", None)
    if number is not None:
        return int(number)
    space = attribute(env, "reward_space", None)
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return space.shape[0]
    raise NoStakeholderRewards(
        "the environment does not say how many stakeholders it has: give num_stakeholders."
    )


def horizon_of(env: gymnasium.Env, given: int | None, otherwise: int) -> int:
    """After how many decisions an episode ends at the latest, where that is known."""
    if given is not None:
        return given
    stated = list(_stated_limits(env))
    return min(stated) if stated else otherwise


# Where environments, and the wrappers around them, say how long an episode may be.
LIMITS = ("horizon", "_max_episode_steps", "max_episode_steps", "max_steps", "max_timesteps")


def _stated_limits(env: gymnasium.Env) -> Iterator[int]:
    """Every limit that a layer of the environment states; the shortest is what holds."""
    layer: Any = env
    while layer is not None:
        spec = getattr(layer, "spec", None)
        stated = [getattr(layer, name, None) for name in LIMITS]
        stated.append(None if spec is None else spec.max_episode_steps)
        for limit in stated:
            if isinstance(limit, int | np.integer) and not isinstance(limit, bool) and limit > 0:
                yield int(limit)
        layer = getattr(layer, "env", None)


def checked(rewards: Any, size: int) -> Float[np.ndarray, " stakeholder"]:
    """The rewards of a step as float64; of another number, or not finite, they are refused."""
    vector = np.asarray(rewards, dtype=np.float64)
    if vector.shape != (size,):
        raise UnequalLengths(
            f"the environment gave rewards of shape {vector.shape} to {size} stakeholders: one "
            "number each is needed."
        )
    if not np.isfinite(vector).all():
        raise NotFinite(f"the environment gave rewards {vector.tolist()}: they must be numbers.")
    return vector


def override_of(info: dict[str, Any]) -> Override:
    """The reward that takes the place of the welfare: `override`, unless not `overridden`."""
    applies = bool(info.get("overridden", info.get("override") is not None))
    value = float(info["override"]) if applies else 0.0
    return Override(np.asarray(applies), np.asarray(value, dtype=np.float64))


def attribute(env: gymnasium.Env, name: str, otherwise: Any) -> Any:
    """An attribute of an environment or of one that it wraps."""
    return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else otherwise
