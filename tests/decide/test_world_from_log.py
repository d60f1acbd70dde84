"""Tests of decide.world_from_log."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from evenhand.auditing.questions import question_of
from evenhand.decide.replay.replay_log import judged_as_logged, read_for_replay
from evenhand.decide.replay.supply import decide_supply
from evenhand.decide.rules.built_in import LeastServed
from evenhand.decide.world_from_log import blocks_of, rows_of_supply, world_of_log
from evenhand.envs import LogWorld, State
from evenhand.errors import BadLog, BadParameter, EvenhandError
from evenhand.fairness.scheme import anytime, to_toml
from evenhand.fairness.temporal import Total
from evenhand.log.history import Lots, Roster, TimedAmounts
from evenhand.log.log import Supply
from evenhand.log.options import AuditOptions
from evenhand.problem.problem import Problem

# Blocks of time points, by hand.


def days(*texts):
    return np.array(texts, dtype="datetime64[us]")


MONDAYS_AND_FRIDAYS = days(
    *("2024-01-01", "2024-01-05", "2024-01-08", "2024-01-12T15:00", "2024-01-15")
)


def test_weeks_begin_on_the_weekday_of_the_first_day():
    blocks = blocks_of(MONDAYS_AND_FRIDAYS, length="7d")
    assert blocks.kept.tolist() == [True, True, True, True, False]  # one day of the third week
    assert (blocks.block.tolist(), blocks.phase.tolist()) == ([0, 0, 1, 1], [0, 4, 0, 4])
    assert (blocks.number, blocks.num_phases) == (2, 7)
    first, left_out, few = blocks.sentences()
    assert "2 blocks of 7 days" in first
    assert left_out.startswith("1 time point at the end did not make a whole block")
    assert "That is few" in few


def test_a_log_that_is_whole_up_to_a_later_day_has_the_blocks_up_to_it():
    until = np.datetime64("2024-01-21T23:59:59.999999", "us")
    blocks = blocks_of(MONDAYS_AND_FRIDAYS, until, "7d")
    assert blocks.kept.all()
    assert blocks.block.tolist() == [0, 0, 1, 1, 2]


def test_a_week_in_which_nothing_happened_is_no_block():
    blocks = blocks_of(days("2024-01-01", "2024-01-15", "2024-01-21"), length=7)
    assert blocks.block.tolist() == [0, 1, 1]


def test_the_default_is_a_week_where_time_points_are_days():
    daily = np.arange("2024-01-01", "2024-02-01", dtype="datetime64[D]").astype("datetime64[us]")
    assert blocks_of(daily).length == 7 * 86_400e6


def test_the_default_is_the_cube_root_of_the_time_points_elsewhere():
    plain = blocks_of(np.arange(1.0, 28.0))  # 27 of them: blocks of 3
    assert (plain.length, plain.number, plain.num_phases) == (3.0, 9, 3)
    assert plain.phase.tolist() == [0, 1, 2] * 9
    monthly = np.arange("2020-01", "2022-04", dtype="datetime64[M]").astype("datetime64[us]")
    assert blocks_of(monthly).length == 14 * 7 * 86_400e6  # 3 × 31 days in whole weeks


@pytest.mark.parametrize(
    ("length", "words"),
    [
        ("30d", "too short to be cut into blocks: it covers 2.1 weeks, and a"),
        ("4w", "Use more of the log (`until`), or shorter blocks (`block`)."),
    ],
)
def test_a_log_shorter_than_a_block_is_refused(length, words):
    with pytest.raises(BadLog) as refused:
        blocks_of(MONDAYS_AND_FRIDAYS, length=length)
    assert words in str(refused.value)


@pytest.mark.parametrize("length", ["12h", "soon", "0", "-3"])
def test_a_length_that_is_none_is_refused(length):
    with pytest.raises(BadParameter, match=f"`block` is '{length}'"):
        blocks_of(MONDAYS_AND_FRIDAYS, length=length)


# A world from a log is the log itself where it has one block: same statuses, same score.

NAMES = ("A", "B", "C")
COLUMNS = {"stakeholder": "to", "time": "t", "amount": "doses"}
# When it is assessed, and how: all that a world can be judged by.
ASKED = (
    {},
    {"every": "2"},
    {"after_each": 4.0},
    {"at_end": True},
    {"welfare": "rawls"},
    {"temporal": "total"},
    {"entitlement": {"A": 1.0, "B": 2.0, "C": 4.0}},
)


def as_log(rows):
    return pd.DataFrame(rows, columns=["t", "to", "doses"])


def in_order(rows):
    """Who got each lot, in the order in which a world gives them out."""
    return [NAMES.index(who) for _, who, _ in sorted(rows, key=lambda row: (row[0], -row[2]))]


def relived(world, choices):
    """The rewards of the steps of one block, and what they are paid, for these choices."""
    problem = Problem(world, world.default_scheme())
    augmented = problem.initial(jax.random.key(0))
    rewards, paid = [], 0.0
    for action in choices:
        augmented, step, pay = problem.step(jax.random.key(0), augmented, action)
        rewards.append(np.asarray(step.rewards))
        paid += float(pay)
    return np.array(rewards), paid


def drawn(seed):
    """A log of some lots to anybody, several at some time points, and one to each in the end."""
    rng = np.random.default_rng(seed)
    rows = [
        (int(rng.integers(6)), NAMES[rng.integers(3)], float(rng.choice([1, 2, 5])))
        for _ in range(rng.integers(3, 10))
    ]
    return as_log([*rows, *((6, name, 1.0) for name in NAMES)])


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: "".join(asked) or "default")
def test_the_choices_of_the_log_make_the_audits_score(asked, seed):
    log, options = drawn(seed), AuditOptions(**COLUMNS, **asked)
    logged = judged_as_logged(read_for_replay(log, options), options, question_of(options))
    world = world_of_log(log, options, block=7).world
    rewards, paid = relived(world, in_order(log.itertuples(index=False, name=None)))
    totals = log.groupby("to")["doses"].sum()
    assert rewards.sum(axis=0) == pytest.approx([totals[name] for name in world.names])
    times = 1 if asked.get("temporal") == "total" or asked.get("at_end") else sum(world.assessed)
    assert paid / times == pytest.approx(logged.judged.score, rel=1e-5)


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("seed", range(2))
def test_what_is_asked_for_and_not_received_makes_the_audits_score(seed):
    log = drawn(seed).sort_values("t", kind="stable").assign(wants=6.0)
    options = AuditOptions(**COLUMNS, asked="wants", judge_requests="shortfall")
    logged = judged_as_logged(read_for_replay(log, options), options, question_of(options))
    world = world_of_log(log, options, block=7).world
    assert world.by_request
    _, paid = relived(world, in_order(log[["t", "to", "doses"]].itertuples(index=False, name=None)))
    assert paid / sum(world.assessed) == pytest.approx(logged.judged.score, rel=1e-5)


def test_those_who_come_and_go_are_noted_and_are_there_only_then():
    roster = pd.DataFrame({"name": NAMES, "from": [0, 3, 0], "until": [6, 6, 2]})
    rows = [(0, "A", 1.0), (1, "C", 2.0), (3, "B", 1.0), (5, "A", 1.0), (6, "B", 2.0)]
    made = world_of_log(as_log(rows), AuditOptions(**COLUMNS, roster=roster), block=7)
    assert made.world.stays == ((0, 4), (2, 4), (0, 1))  # by the time points of the log
    assert "newcomers begin at zero" in " ".join(made.notes)


def made(lots, stays, requests):
    """A supply of lots (time point, amount), with those who come and go, and ask."""
    slot, amount = map(np.array, zip(*sorted(lots), strict=True))
    first, last = (
        {n: float(stay[k]) for n, stay in zip(NAMES, stays, strict=True)} for k in (0, 1)
    )
    at, who, asked = map(np.array, zip(*sorted(requests), strict=True))
    ones = np.ones(len(slot), dtype=np.int64)
    return Supply(
        names=NAMES,
        moments=np.arange(6.0),
        lots=Lots(slot, 0 * ones, amount.astype(float), ones),
        roster=Roster(NAMES, first, last),
        beside={"asked": TimedAmounts(at.astype(float), who, asked, 3)},
    )


def by_least_served(world, supply):
    """What a rule does in the world, lot by lot; ties by who joined first."""
    present = supply.present()
    joined = [int(np.argmax(here)) for here in present.T]
    received, found = np.zeros(3), []
    state = State(world.start(), jnp.asarray(0))
    for _ in range(100):
        eligible = np.flatnonzero(world.situation(state).eligible)
        slot = world.slots[max(int(state.world.row), 0)]
        who = min(eligible, key=lambda k: (received[k], joined[k], k), default=0)
        after = jax.tree.map(lambda leaf: leaf[0], world.outcomes(*state, who).world)
        amount = np.asarray(world.rewards(state, who, after))
        received += amount
        found += [(slot, k, float(amount[k])) for k in np.flatnonzero(amount)]
        state = State(after, jnp.asarray(0))
        if state.world.row < 0:
            return found
    raise AssertionError("the block does not end")


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("seed", range(10))
def test_a_rule_does_in_the_world_what_it_does_in_a_replay(seed):
    rng = np.random.default_rng(seed)
    lots = [(int(rng.integers(6)), float(rng.choice([1, 2, 5]))) for _ in range(6)]
    first = rng.integers(0, 3, 3)
    stays = list(zip(first.tolist(), (first + rng.integers(0, 5, 3)).tolist(), strict=True))
    requests = [
        (int(rng.integers(6)), int(rng.integers(3)), float(rng.choice([1, 3, 8])))
        for _ in range(rng.integers(1, 7))
    ]
    supply = made(lots, stays, requests)
    blocks = blocks_of(supply.moments, length=6)
    rows = rows_of_supply(supply, blocks, np.ones(6, dtype=bool))
    world = LogWorld(**rows, scheme=to_toml(anytime(temporal=Total())))
    decided = decide_supply(supply, LeastServed("zero"))
    columns = (decided.slot, decided.who, decided.amount)
    expected = list(zip(*(column.tolist() for column in columns), strict=True))
    assert by_least_served(world, supply) == expected


def weeks(number):
    days = pd.date_range("2024-01-01", periods=7 * number, freq="D")
    names = itertools.islice(itertools.cycle(NAMES), len(days))
    return pd.DataFrame({"t": days, "to": list(names), "doses": 1})


def test_only_the_part_before_the_date_is_in_the_world():
    made = world_of_log(weeks(6), AuditOptions(**COLUMNS, until="2024-01-28"))
    world = made.world
    assert (len(world.lots), world.blocks, world.horizon) == (28, (0, 7, 14, 21), 28)
    assert world.phases == tuple(range(7)) * 4
    assert "4 blocks of 7 days" in " ".join(made.notes)
    assert "the table: 3 stakeholders, 28 decisions at 28 time points" in made.describe()


def test_a_mean_over_time_is_learned_as_a_sum_and_every_decision_assessed_where_it_may_be():
    world = world_of_log(weeks(2), AuditOptions(**COLUMNS)).world
    assert world.default_scheme() == anytime(temporal=Total())


@pytest.mark.parametrize(
    ("log", "asked", "words"),
    [
        (weeks(1), {"until": "2024-01-05"}, "too short to be cut into blocks: it covers 5 days"),
        (weeks(2), {"every": "year"}, "nothing is assessed (every year): use more of the log"),
        (weeks(2), {"until": "2023-01-01"}, "begins after `until`"),
        (weeks(2), {"out_of": "doses", "amount": None}, "`out_of`"),
        (weeks(2), {"asked": "doses", "amount": None}, "Judge requests with `judge_requests"),
    ],
)
def test_a_log_that_no_world_can_be_made_of_is_refused(log, asked, words):
    with pytest.raises(EvenhandError) as refused:
        world_of_log(log, AuditOptions(**{**COLUMNS, **asked}))
    assert words in str(refused.value)
