"""Worlds of MO-Gymnasium in the benchmark: as they are, with the optimum of their twin or none."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    mo_gymnasium = pytest.importorskip("mo_gymnasium", reason="mo-gymnasium is not installed")

from evenhand.envs import FishWood
from evenhand.lab import Leaderboard, Method, pairs_of, run_benchmark
from evenhand.lab.run_benchmark import InThisProcess
from evenhand.planning import plan
from evenhand.problem.problem import Problem

pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default")]

BUDGET = {"seeds": 2, "steps": 100, "evaluations": 2, "episodes": 100, "final_episodes": 400}


class EveryThird(Method):
    """Fishing two times of three."""

    def act(self, seen, explore):
        return int(seen.time % 3 == 0)


def run(world, methods):
    pairs = pairs_of([world], ["long-term"])
    return run_benchmark(pairs, methods, search=1, executor=InThisProcess(), **BUDGET)


def test_theirs_and_ours_are_one_law():
    theirs, ours = mo_gymnasium.make("fishwood-v0").unwrapped, FishWood()
    place, _ = theirs.reset(seed=3)
    assert int(place[0]) == int(ours.start().place)
    rng = np.random.default_rng(0)
    for time in range(1, ours.horizon + 1):
        draws = copy.deepcopy(theirs.np_random)
        here, action = int(place[0]), int(rng.integers(2))
        place, rewards, terminated, _, _ = theirs.step(action)
        found = draws.random() < (ours.fish if here == 0 else ours.wood)
        assert rewards.tolist() == [float(found and here == i) for i in range(2)]
        assert int(place[0]) == action
        assert terminated == (time == ours.horizon)


def test_a_policy_scores_there_what_it_scores_in_the_twin():
    theirs = run("mo/fishwood-v0", [EveryThird, "random"])
    ours = run({"name": "fish_wood"}, [EveryThird, "random"])
    for method in ("EveryThird", "random"):
        means = [
            np.mean([one.score for one in found.runs if one.method == method])
            for found in (theirs, ours)
        ]
        # The least of about 13 fish and many logs: a standard deviation of less than 4 an episode.
        assert means[0] == pytest.approx(means[1], abs=5 * 4 * np.sqrt(1 / 200 + 1 / 800))
    facts = next(iter(theirs.pairs.values()))
    scheme = pairs_of(["mo/fishwood-v0"], ["long-term"])[0].scheme
    assert facts.optimum == pytest.approx(plan(Problem(FishWood(), scheme)).value)


@pytest.mark.parametrize("name", ["mo/resource-gathering-v0", "mo/four-room-v0"])
def test_a_world_without_a_known_optimum_says_so(name):
    found = run(name, ["random"])
    facts = found.pairs[f"{name}/long-term"]
    assert facts.optimum is None
    assert facts.note.startswith("no known optimum")
    (row,) = Leaderboard(found).rows[f"{name}/long-term"]
    assert row.share is None
    assert row.score.value == pytest.approx(facts.random, abs=0.3)
