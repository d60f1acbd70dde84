"""The memory that is found determines the reward, and is the smallest that does."""

from dataclasses import replace

import pytest

from evenhand.envs import Doughnuts, Lending, WaitingList
from evenhand.fairness.scheme import anytime, periodic
from evenhand.fairness.status import Decayed
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Equality, LogNash, Rawls
from evenhand.learn.determining_memory import _claims, _seen_with, find_memory
from evenhand.learn.random_play import MemoryTrial, RandomPlay
from evenhand.memory.memory import Clock, Full, GroupDifference, Min, OfStatus, Product, Reset
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 6, 0.8)
BANK = Lending(horizon=5)
CLINIC = WaitingList(arrivals=(0.5, 0.5), urgencies=1.0, capacity=2, horizon=5)
FADING = anytime(LogNash(), Total(), Decayed(2.0))


@pytest.mark.parametrize(
    ("problem", "memory", "looks_back"),
    [
        (Problem(SHOP, SHOP.default_scheme()), Full(), True),
        (Problem(SHOP, anytime(Equality(), Total())), Min(), True),
        (Problem(SHOP, FADING), OfStatus(Decayed(2.0)), True),
        (Problem(BANK, BANK.default_scheme()), GroupDifference(BANK.groups), True),
        (Problem(CLINIC, CLINIC.default_scheme()), None, False),
    ],
    ids=["log-Nash: all counts", "equality: leads", "decayed", "groups", "read off the state"],
)
def test_the_smallest_that_determines_the_reward_is_found(problem, memory, looks_back):
    found = find_memory(problem, clock=False)
    wanted = OfStatus(problem.scheme.status) if memory is None else memory
    assert (found.problem.memory, found.determines, found.looks_back) == (wanted, True, looks_back)
    found.problem.require_memory_pays()


def test_what_random_play_shows_is_of_the_problem_with_that_memory_and_its_clock():
    found = find_memory(Problem(SHOP, anytime(Rawls(), Total())), clock=True)
    assert found.problem.memory == Product((Full(), Clock(7)))
    presence, counts, clock = found.play.observed
    assert clock[0].tolist() == [0, 1, 2, 3, 4, 5]
    # What is counted before each step is what was received before it.
    before = found.play.received.cumsum(axis=1) - found.play.received
    assert (counts == before).all()
    assert presence.shape == counts.shape
    assert found.play.unit == 1.0


def test_a_memory_that_is_kept_is_kept_whether_it_determines_the_reward_or_not():
    problem = Problem(SHOP, SHOP.default_scheme(), Reset())
    found = find_memory(problem, clock=False, keep=True)
    assert found.problem == problem
    assert not found.determines
    assert find_memory(replace(problem, memory=Full()), clock=False, keep=True).determines


def test_a_claim_is_a_status_of_the_right_size():
    problem = Problem(SHOP, SHOP.default_scheme())
    assert _claims(problem, Full())
    assert not _claims(problem, Reset())  # which claims nothing
    assert not _claims(problem, GroupDifference({"all": [0, 1]}))


def test_what_the_scheme_carries_stays_in_view():
    """Who is there, what is remembered, and the scheme's own counter, in their order."""
    start = Problem(SHOP, periodic(2, Rawls(), Total()), Product((Full(), Clock(7))))
    trials = tuple(MemoryTrial(None, None, (name,)) for name in ("leads", "counts", "clock"))
    play = RandomPlay(*[None] * 4, ("there", "full", "old clock", "counter"), trials)
    assert _seen_with(play, start, (1, 2)).observed == ("there", "counts", "clock", "counter")
