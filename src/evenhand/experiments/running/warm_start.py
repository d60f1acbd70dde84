"""Learners that begin with the policies of a file: to go on from them, or in a like problem."""

from __future__ import annotations

import os
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.learn.deep.agent import AgentState, DeepAgent
from evenhand.learn.policies.policy_files import Saved, load_policies


def start_from_policies(
    agent: DeepAgent, learners: AgentState, path: str | os.PathLike[str], seeds: Sequence[int]
) -> AgentState:
    """The learners with weights of a file: of the same seed where it has it, else of its first.

    Args:
        agent: The agent that goes on learning.
        learners: Its learners, which know nothing.
        path: A policy file of `evenhand train`.
        seeds: The seed of each learner.
    """
    saved = require_start(agent, path)
    of_file = saved.header.get("spec", {}).get("seeds", [])
    places = np.asarray([of_file.index(seed) if seed in of_file else 0 for seed in seeds])
    found = [jnp.asarray(leaf)[places] for leaf in jax.tree.leaves(saved.weights)]
    weights = jax.tree.unflatten(jax.tree.structure(learners.weights), found)
    return agent.started_from(learners, weights)


def require_start(agent: DeepAgent, path: str | os.PathLike[str]) -> Saved:
    """The policies of a file, if the agent can go on from them."""
    saved = load_policies(path)
    own = jax.eval_shape(agent.start, jax.random.key(0)).weights
    shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(saved.weights)]
    if saved.network != agent.network or shapes != [leaf.shape for leaf in jax.tree.leaves(own)]:
        raise BadParameter(
            f"{path} holds policies of another network or of other observations, so that learning "
            "cannot begin with them: train the same problem, or leave start out."
        )
    return saved
