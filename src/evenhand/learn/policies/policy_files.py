"""Policies as files: the weights, and a header that says what they are weights of.

The header is JSON and the weights are arrays: to load a file runs no code. One that was changed or
cut is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from evenhand._util.tensor_files import named_leaves, read_tensors, with_leaves, write_tensors
from evenhand.errors import BadFile, EvenhandError
from evenhand.fairness.scheme_file import from_table, to_table
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.encoders import ENCODERS, Encoder
from evenhand.learn.deep.networks import NETWORKS, Network
from evenhand.learn.policies.greedy_policy import Greedy, GreedyScore, score_greedy
from evenhand.problem.problem import Problem
from evenhand.problem.problem_file import build_problem, describe_problem

Header = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Saved:
    """Policies that were learned with several seeds, as a file holds them."""

    header: Header
    problem: Problem
    encoder: Encoder
    network: Network
    weights: Any  # with a leading axis of seeds

    def policy(self, which: int = 0) -> Greedy:
        """The policy of one seed."""
        count = self.num_policies
        if not 0 <= which < count:
            raise BadFile(f"there is no policy {which} in this file: they run to {count - 1}.")
        weights = jax.tree.map(lambda leaf: leaf[which], self.weights)
        return Greedy(self.problem, self.encoder, self.network, weights)

    @property
    def num_policies(self) -> int:
        return jax.tree.leaves(self.weights)[0].shape[0]

    def evaluate(self, seed: int = 0, episodes: int = 1000) -> GreedyScore:
        """Means over greedy episodes, for each seed."""
        keys = jax.random.split(jax.random.key(seed), self.num_policies)
        return score_greedy(self.problem, self.encoder, self.network, self.weights, keys, episodes)


def save_policies(
    path: str | os.PathLike[str], agent: DeepAgent, weights: Any, about: Mapping[str, Any]
) -> None:
    """Write the policies of several seeds, whole; `about` joins the header (scores, versions)."""
    header = {**about, **describe_problem(agent.problem)}
    header["encoder"] = to_table(agent.encoder, ENCODERS)
    header["network"] = to_table(agent.network, NETWORKS)
    write_tensors(path, "policy", header, named_leaves(weights))


def load_policies(path: str | os.PathLike[str]) -> Saved:
    """Read policies from a file."""
    header, arrays = read_tensors(path, "policy")
    try:
        problem = build_problem(header)
        encoder = from_table(header["encoder"], ENCODERS, "encoder")
        network = from_table(header["network"], NETWORKS, "network")
        actions = problem.environment.num_actions
        fresh = jax.eval_shape(
            lambda key: network.init(key, encoder.layout(problem), actions), jax.random.key(0)
        )
        weights = with_leaves(fresh, arrays, leading=1)
    except (KeyError, TypeError) as error:
        raise BadFile(f"the header of {path} lacks what it should say: {error}.") from None
    except EvenhandError as error:
        raise BadFile(f"{path} cannot be read as a policy: {error}") from None
    return Saved(header, problem, encoder, network, jax.tree.map(jnp.asarray, weights))
