"""Why somebody is not next: what the sentence says would change it does change it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.events import Ask, Join, Pause
from evenhand.serve.pools.explain import explain, forecast
from evenhand.serve.pools.pool import Decision, LivePool, PoolDefinition, Wish

NAMES = ("Ann", "Ben", "Cem", "Dan")


def pool_of(received, entitlements=(), rule="least_served"):
    """A pool in which each has received so much, from the start of it."""
    pool = LivePool.new(PoolDefinition("p", rule, dates=False))
    for k, name in enumerate(NAMES[: len(received)]):
        own = entitlements[k] if entitlements else 1.0
        pool.record(Join(name, 0, own), "me", 0)
    for name, amount in zip(NAMES, received, strict=False):
        if amount:
            pool.record(Decision(((name, float(amount)),), 0), "me", 0)
    return pool


def said(pool, name):
    return explain(pool, name, Wish(), 0)["what_would_differ"]


def test_the_sentences():
    pool = pool_of((2, 1, 0, 1))
    assert said(pool, "Cem") == (
        "Cem would not be next if it were away, or had just been served: then Ben would be next."
    )
    assert said(pool, "Ben") == (
        "Ben would be next if Cem were away, or if it had received at least 1 less. With nothing "
        "else happening its turn comes after 1 turn."
    )
    assert "if Cem and Ben were away, or if it had received more than 1 less" in said(pool, "Dan")
    assert "if Cem, Ben and Dan were away" in said(pool, "Ann")
    level = pool_of((0, 0))
    assert "ties are broken by who joined first, then by the order" in said(level, "Ben")
    pool.record(Pause("Ann", 5), "me", 0)
    assert said(pool, "Ann") == "Ann would have to resume first."


def test_nobody_and_a_rule_that_does_not_count_what_was_received():
    alone = pool_of((0,))
    assert said(alone, "Ann") == "Ann would not be next if it were away, or had just been served."
    alone.record(Pause("Ann", 0), "me", 0)
    assert said(alone, "Ann").startswith("Nobody is eligible")
    waiting = pool_of((1, 0, 0), rule="longest_wait")
    assert "received" not in said(waiting, "Ann")


amounts = st.lists(st.integers(0, 9), min_size=2, max_size=4)


@given(amounts, st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=4, max_size=4))
def test_the_amount_is_the_least_that_does_it(received, entitlements):
    """With so much less somebody is next; with a little more than that somebody is not."""
    pool = pool_of(received, entitlements)
    for k, name in enumerate(NAMES[: len(received)]):
        found = re.search(r"received (at least|more than) ([\d.]+) less", said(pool, name))
        if found is None:
            continue
        less = float(found[2]) + (0.001 if found[1] == "more than" else 0.0)
        if not less <= received[k]:
            continue
        for amount, is_next in ((received[k] - less, True), (received[k] - less + 0.01, False)):
            changed = [*received[:k], amount, *received[k + 1 :]]
            first = pool_of(changed, entitlements).propose(Wish(), 0).shares[0][0]
            assert (first == name) == is_next, (changed, name)


@pytest.mark.parametrize("rule", ["least_served", "longest_wait", "round_robin", "lottery:3"])
def test_without_those_before_them_everybody_would_be_next(rule):
    pool = pool_of((1, 2, 0, 1), rule=rule)
    for name in NAMES:
        found = re.search(r"would be next if (.*?) were away", said(pool, name))
        if found is not None:
            away = tuple(re.split(", | and ", found[1]))
            assert pool.propose(Wish(without=away), 0).shares[0][0] == name


def asking(wants, rule="least_served"):
    """A pool in which each has asked for so much."""
    pool = LivePool.new(PoolDefinition("p", rule, dates=False, by_request=True))
    for name, amount in zip(NAMES, wants, strict=False):
        pool.record(Join(name, 0), "me", 0)
        if amount:
            pool.record(Ask(name, 0, amount), "me", 0)
    return pool


def test_an_amount_is_given_whole_and_whoever_wants_less_is_not_before_others():
    pool, five = asking((1, 9)), Wish(5)
    assert pool.propose(five, 0).shares[0][0] == "Ben"
    ben = explain(pool, "Ben", five, 0)
    assert ben["sentence"] == "Ben is next of 1: it has received 0."
    assert (ben["rank"], ben["turns_until"], ben["next"]["name"]) == (1, 0, "Ben")
    ann = explain(pool, "Ann", five, 0)
    words = "Ann is not eligible: it wants 1 more, and 5 is given whole."
    assert (ann["sentence"], ann["rank"], ann["turns_until"]) == (words, None, None)
    assert ann["what_would_differ"] == "Ann would have to ask for 4 more first."
    assert forecast(pool, "Ann", five, 0, None, None)["sentence"] == words
    assert explain(pool, "Ann", Wish(1), 0)["rank"] == 1


@pytest.mark.parametrize(
    ("before", "turns", "words"),
    [(1_000, 1_000, "after 1,000 turns"), (1_001, None, "more than 1,000 turns away")],
)
def test_more_than_a_thousand_turns_away_is_more_than_a_thousand(before, turns, words):
    pool = pool_of((0, before - 1))  # Ann is before Ben also where they are level
    found = explain(pool, "Ben", Wish(), 0)
    assert found["turns_until"] == turns
    assert words in found["what_would_differ"]


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=4),
    st.sampled_from([1.0, 2.0, 3.0]),
    st.sampled_from(["least_served", "first_come", "longest_wait", "lottery:3", "proportional"]),
)
def test_the_explanation_agrees_with_what_is_proposed(wants, amount, rule):
    pool, wish = asking(wants, rule), Wish(amount)
    chosen = [name for name, _ in pool.propose(wish, 0).shares]
    for name in NAMES[: len(wants)]:
        found = explain(pool, name, wish, 0)
        assert (found["next"] is not None) == bool(chosen)
        assert (found["turns_until"] == 0) == (name in chosen)
        assert "1,000" not in found["what_would_differ"]
        assert (found["turns_until"] is None) == (found["rank"] is None)
