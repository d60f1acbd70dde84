"""Tests of serve.pools.pool."""

from __future__ import annotations

import asyncio

import pytest

from evenhand.errors import BadParameter, EvenhandError, StaleTurn
from evenhand.events import Join, Leave, Pause, Resume
from evenhand.serve.pools.pool import (
    AnswersOnce,
    AskedChange,
    LivePool,
    PoolDefinition,
    Wish,
    pool_view,
)

# The same request asked twice at once: one is carried out, the other waits, and may go away.


class Kept:
    """A store that keeps one answer, if any."""

    answer = None

    def kept_answer(self, pool, actor, key):
        return self.answer


DONE = {"number": 4}
ASKED = AskedChange("me", "key", b"content")


def run(work):
    """What happens while the first of two that ask the same is being carried out."""

    async def all_of_it():
        store, go_on, carried_out = Kept(), asyncio.Event(), []
        once = AnswersOnce(store)

        async def carry_out():
            carried_out.append(len(carried_out))
            await go_on.wait()
            store.answer = ASKED.kept("p", DONE)
            return DONE

        def ask():
            return asyncio.create_task(once.answer("p", ASKED, carry_out))

        first, second = ask(), ask()
        while not carried_out:
            await asyncio.sleep(0)
        await work(first, second, go_on)
        return carried_out

    return asyncio.run(all_of_it())


def test_whoever_waits_gets_the_same_answer():
    async def work(first, second, go_on):
        go_on.set()
        assert await asyncio.gather(first, second) == [DONE, DONE]

    assert run(work) == [0]


def test_whoever_waits_and_is_cancelled_is_gone_and_nothing_of_it_happens_later():
    async def work(first, second, go_on):
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait({second}, timeout=1)
        assert second.cancelled()
        go_on.set()
        assert await first == DONE

    assert run(work) == [0]


def test_if_the_first_is_cancelled_whoever_waits_carries_it_out():
    async def work(first, second, go_on):
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go_on.set()
        assert await second == DONE

    assert run(work) == [0, 1]


# Who is next, by hand; and what is refused leaves nothing half done.


def pool_of(*names, **definition):
    pool = LivePool.new(PoolDefinition("p", **{"dates": False, **definition}))
    for name in names:
        pool.record(Join(name, 0), "me", 0)
    return pool


def decide(pool, **given):
    change = pool.decide(Wish(**given), 0)
    pool.record(change, "me", 0)
    return change


def test_the_runner_up_is_who_would_be_next_without_the_first():
    pool = pool_of("A", "B", "C")
    proposal = pool.propose(Wish(), 0)
    assert proposal.shares == (("A", 1.0),)
    assert proposal.runner_up == ("B", "has received 0")
    two = pool.propose(Wish(count=2, distinct=True), 0)
    assert two.shares == (("A", 1.0), ("B", 1.0))
    assert two.runner_up == ("C", "has received 0")
    alone = pool.propose(Wish(without=("A", "B")), 0)
    assert (alone.shares, alone.runner_up) == ((("C", 1.0),), None)


def test_several_lots_go_round_and_a_rule_that_divides_shares_one():
    pool = pool_of("A", "B")
    names = [name for name, _ in pool.propose(Wish(count=5), 0).shares]
    assert names == ["A", "B", "A", "B", "A"]
    shared = pool_of("A", "B", rule="proportional").propose(Wish(10.0), 0)
    assert shared.shares == (("A", 5.0), ("B", 5.0))


def test_a_turn_is_over_once_anything_happens():
    pool = pool_of("A", "B")
    turn = pool.turn
    assert pool.decide(Wish(turn=turn), 0) == pool.decide(Wish(), 0)
    pool.record(Pause("B", 0), "me", 0)
    with pytest.raises(StaleTurn, match="ask again"):
        pool.decide(Wish(turn=turn), 0)
    # Two logs that part have other turns, although they are as long.
    other = pool_of("A", "B")
    other.record(Pause("A", 0), "me", 0)
    assert pool.number == other.number
    assert pool.turn != other.turn


def test_another_decision_needs_a_reason_and_the_log_says_whom_the_rule_proposed():
    pool = pool_of("A", "B")
    with pytest.raises(BadParameter, match="the rule proposes A"):
        decide(pool, shares=(("B", 1.0),))
    with pytest.raises(BadParameter, match="reason"):
        decide(pool, shares=(("B", 1.0),), reason="  ")
    change = decide(pool, shares=(("B", 1.0),), reason="A is ill")
    assert change.proposed == (("A", 1.0),)
    assert change.because == ("has received 0",)
    same = decide(pool, shares=(("A", 1.0),))
    assert (same.proposed, same.runner_up) == (None, ("B", "has received 1"))


def test_the_reason_of_another_decision_is_that_of_its_moment():
    pool = LivePool.new(PoolDefinition("p", "longest_wait"))
    for name in ("A", "B"):
        pool.record(Join(name, "2026-01-01"), "me", 0)
    instead = {"at": "2026-01-11", "shares": (("B", 1.0),), "reason": "A is ill"}
    by_rule = pool.decide(Wish(at="2026-01-11"), 0)
    other = pool.decide(Wish(**instead), 0)
    assert other.because == by_rule.because
    assert "10 days" in other.because[0]
    without = pool.decide(Wish(among=("A",), **instead), 0)
    assert without.because == ("is not among those who could take it",)


@pytest.mark.parametrize(
    "shares",
    [
        (("A", 1.0), ("nobody", 1.0)),
        (("A", 1.0), ("B", 0.0)),
        (("A", 1.0), ("B", float("nan"))),
        (("A", 1.0), ("C", 1.0)),  # who has left
    ],
)
def test_a_decision_of_which_a_part_cannot_be_changes_nothing(shares):
    pool = pool_of("A", "B", "C")
    pool.record(Leave("C", 0), "me", 0)
    before = pool.allocator.snapshot(), pool.turn
    with pytest.raises(EvenhandError):
        decide(pool, shares=shares, reason="why not")
    assert (pool.allocator.snapshot(), pool.turn) == before


def test_nobody_to_give_to():
    with pytest.raises(BadParameter, match="nobody in the pool 'p' is eligible"):
        decide(pool_of())


def test_a_clock_that_is_set_back_does_not_stop_a_pool():
    pool = pool_of(dates=True)
    second = 1_000_000
    pool.record(Join("A", pool.moment(None, 5 * second)), "me", 0)
    assert pool.moment(None, 3 * second) == "1970-01-01T00:00:05"
    assert pool.moment(None, 7 * second) == "1970-01-01T00:00:07"
    assert pool.moment("2026-03-31T10:00:00+02:00", 0) == "2026-03-31T08:00:00"


@pytest.mark.parametrize(
    ("dates", "at"), [(True, "soon"), (True, "1066-10-14"), (False, "soon"), (False, 1e300)]
)
def test_moments_that_are_none(dates, at):
    with pytest.raises(BadParameter, match="`at`"):
        pool_of(dates=dates).moment(at, 0)


@pytest.mark.parametrize("wish", [{"count": 0}, {"count": 10_001}, {"among": ("A",) * 10_001}])
def test_wishes_that_are_too_many(wish):
    with pytest.raises(BadParameter, match="at most 10,000"):
        Wish(**wish)


def test_what_is_so_already_is_refused():
    pool = pool_of("Ann")
    with pytest.raises(BadParameter, match="nothing to resume"):
        pool.require(Resume("Ann", 5))
    pool.record(Pause("Ann", 5), "me", 0)
    number = pool.number
    with pytest.raises(BadParameter, match="paused already"):
        pool.require(Pause("Ann", 5))
    assert pool.number == number


def test_a_rule_is_described_as_it_is_at_work_in_the_pool():
    """A half-life without a unit is one of days here, as times are dates."""
    pool = LivePool.new(PoolDefinition("p", rule="half_life:7"))
    assert pool_view(pool)["rule"].endswith("amounts count half after 7 days")
