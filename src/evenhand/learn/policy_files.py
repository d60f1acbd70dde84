"""Policies as files: the weights, and a header that says what they are weights of.

The header is JSON and the weights are arrays: to load a file runs no code. One that was changed or
cut is refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from evenhand._util.saved import (
    SavedRecord,
    named_leaves,
    read_tensors,
    reading_saved,
    require_finite,
    with_leaves,
    write_tensors,
)
from evenhand.envs.own_environment import know_imported
from evenhand.errors import BadFile
from evenhand.fairness.scheme import from_table, to_table
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.encoders import ENCODERS, Encoder
from evenhand.learn.deep.networks import NETWORKS, Network
from evenhand.learn.policies import (
    Greedy,
    GreedyScore,
    problem_for,
    score_greedy,
    usable_for,
    weights_for,
)
from evenhand.problem.problem import Problem, build_problem, describe_problem

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

    def for_stakeholders(self, num_stakeholders: int | None, horizon: int | None = None) -> Saved:
        """The same policies for another number of stakeholders, all like those of the file.

        Args:
            num_stakeholders: How many there are to be; None: as many as there are.
            horizon: How many decisions an episode is to have; as many as it had by default.
        """
        problem = problem_for(self.problem, num_stakeholders, horizon)
        weights = weights_for(self.network, self.encoder, self.weights, self.problem, problem)
        return replace(self, problem=problem, weights=weights)

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
    usable = usable_for(agent.problem, agent.network, agent.encoder, weights)
    header["stakeholders"] = usable.to_json(agent.problem.environment.num_stakeholders)
    write_tensors(path, "policy", header, named_leaves(weights))


def load_policies(path: str | os.PathLike[str]) -> Saved:
    """Read policies from a file."""
    header, arrays = read_tensors(path, "policy")
    require_finite(path, arrays)
    record, key = SavedRecord(header, path), jax.random.key(0)
    with reading_saved(path, "policy"):
        know_imported(header.get("environment"))
        problem = build_problem(header, path)
        encoder = from_table(record.value("encoder"), ENCODERS, "encoder")
        network = from_table(record.value("network"), NETWORKS, "network")
        fresh = jax.eval_shape(
            lambda key: network.init(key, encoder.layout(problem), problem.environment.num_actions),
            key,
        )
        weights = with_leaves(fresh, arrays, leading=1)
        _require_one_number_of_seeds(weights)
        # An episode in shapes alone: what does not fit together is found before it is played.
        jax.eval_shape(
            lambda weights, key: Greedy(problem, encoder, network, weights).episode(key),
            fresh,
            key,
        )
    return Saved(header, problem, encoder, network, jax.tree.map(jnp.asarray, weights))


def _require_one_number_of_seeds(weights: Any) -> None:
    seeds = {leaf.shape[0] for leaf in jax.tree.leaves(weights)}
    if len(seeds) != 1 or 0 in seeds:
        raise BadFile("its arrays hold the weights of different numbers of seeds, or of none.")
