"""The value of a given policy, regret, plans as files, and noise found inside an MDP."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import Discounted, FiniteMDP, LogNash, Total, anytime
from evenhand.envs import Doughnuts, GreedyForBank, Lending, Random, RoundRobin, TurnTaking
from evenhand.errors import BadFile, BadParameter, CannotPlan, CannotWrite
from evenhand.memory.memory import Full, GroupDifference, LastWinner, Nothing
from evenhand.planning import load_plan, noise_distribution, regret, save_plan
from evenhand.planning.evaluation import evaluate
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

SHOP = Doughnuts(num_stakeholders=2, horizon=3, presence=0.5)
PROBLEM = Problem(SHOP, SHOP.nash_scheme())


def by_hand(decide) -> tuple[float, dict[float, float]]:
    """The expected score of a rule, by listing all 4^3 sequences of who is present."""
    scores: dict[float, float] = {}
    subsets = list(itertools.product([False, True], repeat=2))
    for days in itertools.product(subsets, repeat=3):
        counts, score = [0, 0], 0.0
        for time, present in enumerate(days):
            chosen = decide(time, present, counts)
            if present[chosen]:
                counts[chosen] += 1
                score += sum(math.log(count + 1) for count in counts)
        scores[round(score, 9)] = scores.get(round(score, 9), 0.0) + 1 / 64
    return sum(score * p for score, p in scores.items()), scores


RULES = {
    TurnTaking(): lambda time, present, counts: (
        min((i for i in (0, 1) if present[i]), key=lambda i: counts[i]) if any(present) else 0
    ),
    RoundRobin(2): lambda time, present, counts: time % 2,
}


@pytest.mark.parametrize("policy", RULES, ids=lambda p: type(p).__name__)
def test_the_exact_value_and_distribution_of_a_rule_by_hand(policy):
    expected, distribution = by_hand(RULES[policy])
    found = evaluate(PROBLEM, policy, with_distribution=True)
    assert found.method == "exact"
    assert found.score == pytest.approx(expected, abs=1e-9)
    scores, chances = found.distribution
    assert dict(zip(np.round(scores, 7), chances, strict=True)) == pytest.approx(
        {round(score, 7): chance for score, chance in distribution.items()}
    )


def test_a_policy_may_see_less_than_the_scheme_knows():
    def alternate(key, state, memory):  # not to the last winner, if the other one is there
        other = 1 - jnp.clip(memory, 0, 1)
        return jnp.where(state.noise[other], other, 1 - other)

    problem = Problem(SHOP, SHOP.nash_scheme(), LastWinner())
    last = {"winner": 2}

    def rule(time, present, counts):
        if time == 0:
            last["winner"] = 2
        other = 1 - min(last["winner"], 1)
        chosen = other if present[other] else 1 - other
        last["winner"] = chosen if present[chosen] else last["winner"]
        return chosen

    assert evaluate(problem, alternate).score == pytest.approx(by_hand(rule)[0], abs=1e-9)


def test_random_is_exact_and_so_is_a_plan():
    found = plan(PROBLEM)
    assert evaluate(PROBLEM, Random(2)).score == pytest.approx(found.random_value())
    assert evaluate(PROBLEM, found).score == found.value


def test_what_is_too_large_or_random_is_evaluated_by_episodes_and_says_so():
    exact = evaluate(PROBLEM, TurnTaking()).score
    rough = evaluate(PROBLEM, TurnTaking(), memory_limit=1.0, episodes=4000)
    assert (rough.method, rough.episodes) == ("episodes", 4000)
    assert rough.interval[0] - 0.02 <= exact <= rough.interval[1] + 0.02

    def coin(key, state, memory):
        return jax.random.randint(key, (), 0, 2)

    found = evaluate(PROBLEM, coin)
    assert (found.method, found.episodes) == ("episodes", 10_000)
    assert found == evaluate(PROBLEM, coin, seed=0)
    low, high = found.interval
    assert low - 0.05 <= plan(PROBLEM).random_value() <= high + 0.05


# The second is always there.
HALF = Doughnuts(2, 3, (0.5, 1.0))
HALF_THERE = Problem(HALF, HALF.nash_scheme())


def test_what_is_decided_by_chance_does_not_foretell_who_comes_next():
    """With one key for both, the first would be served just before it is there again."""

    def guess(key, state, memory):
        return 1 - HALF.draw(jax.random.split(key)[1])[0].astype(int)

    found = evaluate(HALF_THERE, guess)
    assert found.score == pytest.approx(plan(HALF_THERE).random_value(), abs=0.04)


def test_a_policy_decides_in_double_precision():
    """The one who is always there is served where numbers are wide enough, else the other."""
    wide = lambda key, state, memory: jnp.asarray(int(memory.dtype == np.float64))  # noqa: E731
    always = sum(math.log(count + 1) for count in (1, 2, 3))
    assert evaluate(HALF_THERE, wide).score == pytest.approx(always)


def test_a_discounted_policy_is_evaluated_with_its_discount():
    problem = Problem(SHOP, anytime(LogNash(), Discounted(0.5)))
    exact = evaluate(problem, TurnTaking())
    rough = evaluate(problem, TurnTaking(), memory_limit=1.0, episodes=4000)
    assert exact.score == pytest.approx(rough.score, abs=0.05)
    assert exact.score < evaluate(PROBLEM, TurnTaking()).score


def test_lending_greedily_is_worse_than_the_optimum():
    bank = Lending(horizon=4)
    problem = Problem(bank, bank.parity_scheme(), GroupDifference(bank.groups))
    best = plan(problem, use_memory=True)
    greedy = evaluate(problem, GreedyForBank(bank))
    assert greedy.exact
    assert greedy.score < best.value
    lost, share = regret(greedy.score, best.value, best.random_value())
    assert lost == pytest.approx(best.value - greedy.score)
    assert share < 1.0


def test_regret_of_the_ends():
    assert regret(3.0, 5.0, 1.0) == (2.0, 0.5)
    assert regret(5.0, 5.0, 1.0) == (0.0, 1.0)
    assert regret(1.0, 5.0, 1.0) == (4.0, 0.0)
    assert regret(1.0, 1.0, 1.0) == (0.0, 1.0)


def test_a_plan_can_be_asked_what_now_and_why():
    found = plan(PROBLEM)
    start = PROBLEM.initial(jax.random.key(0))
    both = start._replace(state=start.state._replace(noise=jnp.array([True, True])))
    reasons = found.explain(both)
    assert reasons.as_good == [0, 1]  # nobody has had any: equally good
    assert reasons.values[0] == pytest.approx(reasons.values[1])
    only_second = start._replace(state=start.state._replace(noise=jnp.array([False, True])))
    reasons = found.explain(only_second)
    assert reasons.action == 1
    # Wasting pays 0 now and leaves the two-step problem of RULES.md.
    two_steps = 27 / 16 * math.log(2) + 3 / 16 * math.log(3)
    assert reasons.values[0] == pytest.approx(two_steps, abs=1e-9)


def test_a_plan_survives_the_round_trip_through_a_file(tmp_path):
    bank = Lending(horizon=4)
    for problem, use_memory in (
        (PROBLEM, False),
        (Problem(SHOP, anytime(LogNash()), Full(), augment_with_score=True), False),
        (Problem(bank, bank.parity_scheme(), GroupDifference(bank.groups)), True),
    ):
        found = plan(problem, use_memory=use_memory)
        path = tmp_path / "plan.safetensors"
        save_plan(found, path)
        again = load_plan(path)
        assert again.problem == problem
        assert again.value == found.value
        start = problem.initial(jax.random.key(3))
        np.testing.assert_array_equal(again.explain(start).values, found.explain(start).values)
        assert [p.name for p in tmp_path.iterdir()] == ["plan.safetensors"]


def test_a_plan_file_that_was_changed_or_cut_is_refused(tmp_path):
    path = tmp_path / "plan.safetensors"
    save_plan(plan(PROBLEM), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(BadFile, match="cut short"):
        load_plan(path)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BadFile, match="was changed"):
        load_plan(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(BadFile, match="not a plan"):
        load_plan(path)
    with pytest.raises(BadFile, match="no file"):
        load_plan(tmp_path / "none")
    with pytest.raises(CannotWrite, match="cannot be written"):
        save_plan(plan(PROBLEM), tmp_path / "no" / "folder")


def noisy_mdp(dependent: bool) -> FiniteMDP:
    """Worlds 0 and 1, noise 0 and 1 with chances 0.3 and 0.7; action a leads to world a."""
    transitions = np.zeros((4, 2, 2, 2))
    for action in (0, 1):
        transitions[:, action, action] = [0.3, 0.7]
    if dependent:
        transitions[2, 1, 1] = [0.5, 0.5]
    return FiniteMDP(0, transitions.reshape(4, 2, 4), np.zeros((4, 2, 4, 1)))


def test_noise_is_found_where_it_is_drawn_afresh_and_only_there():
    assert noise_distribution(noisy_mdp(False), 2) == pytest.approx([0.3, 0.7])
    with pytest.raises(CannotPlan, match="action 1 in world 1 with noise 0"):
        noise_distribution(noisy_mdp(True), 2)
    with pytest.raises(BadParameter, match="4 states are not pairs"):
        noise_distribution(noisy_mdp(False), 3)


def test_nothing_remembered_can_be_evaluated_too():
    problem = Problem(SHOP, anytime(LogNash(), Total()), Nothing())
    always_first = lambda key, state, memory: jnp.asarray(0)  # noqa: E731
    expected, _ = by_hand(lambda time, present, counts: 0)
    assert evaluate(problem, always_first).score == pytest.approx(expected, abs=1e-9)
