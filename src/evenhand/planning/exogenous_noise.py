"""Planning from arrays: a finite MDP, and noise found inside its states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.envs.mdp_environment import MDPEnvironment
from evenhand.errors import BadParameter, CannotPlan
from evenhand.process import FiniteMDP

if TYPE_CHECKING:
    from jaxtyping import Float

__all__ = ["MDPEnvironment", "noise_distribution"]


def noise_distribution(mdp: FiniteMDP, num_noises: int) -> Float[np.ndarray, " noise"]:
    """The distribution of the noise in an MDP whose states are pairs: s = x · num_noises + ξ.

    Integrating ξ out is valid where it is drawn afresh, independently of everything, and only
    there. So this checks that P(x', ξ' | x, ξ, a) = P(x' | x, ξ, a) · P(ξ') for one and the same
    P(ξ'), and otherwise says where it fails.
    """
    if num_noises < 1 or mdp.num_states % num_noises:
        raise BadParameter(
            f"{mdp.num_states} states are not pairs of a world and one of {num_noises} noises."
        )
    joint = mdp.transitions.reshape(mdp.num_states, mdp.num_actions, -1, num_noises)
    noise = joint.sum(axis=2)
    distribution = noise[0, 0]
    product = joint.sum(axis=3, keepdims=True) * distribution
    apart = np.abs(joint - product).max(axis=(2, 3))
    if apart.max() > 1e-9:
        state, action = np.unravel_index(apart.argmax(), apart.shape)
        world, now = divmod(int(state), num_noises)
        raise CannotPlan(
            f"the noise is not drawn afresh: after action {action} in world {world} with noise "
            f"{now} it depends on where the world goes or on where it was. Keep it in the state."
        )
    return distribution
