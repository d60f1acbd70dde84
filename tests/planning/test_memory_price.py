"""The price of memory against brute force over restricted policies, and what theory implies."""

from __future__ import annotations

import itertools
import json
import math
import os
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import milp

from evenhand.envs import Doughnuts, GaussianLending, Lending
from evenhand.errors import BadParameter, CannotPlan
from evenhand.memory.memory import (
    Full,
    GroupDifference,
    GroupFull,
    LastWinner,
    Memory,
    Min,
    Nothing,
    Reset,
    recent,
)
from evenhand.planning.memory_price import (
    PriceRow,
    PriceTable,
    _Found,
    _share,
    price_of_memory,
    standard_memories,
)
from evenhand.planning.planner import plan
from evenhand.planning.restricted import ascend, prove, restrict, rule_out, starts
from evenhand.problem.problem import Problem

# A simulator of doughnuts for two of its own: nothing below is from evenhand.

NOISES = list(itertools.product((False, True), repeat=2))
MEMORIES = {
    "none": (None, lambda m, action, served: None),
    "last winner": (None, lambda m, action, served: m if served is None else served),
    "window 1": (None, lambda m, action, served: served),
    "Full": ((0, 0), lambda m, action, served: add(m, served)),
    "Min": (
        (0, 0),
        lambda m, action, served: tuple(x - min(add(m, served)) for x in add(m, served)),
    ),
    "Reset": ((0, 0), lambda m, action, served: restart(add(m, served))),
    "last action": (None, lambda m, action, served: action),
}


def add(counts, served):
    return tuple(count + (i == served) for i, count in enumerate(counts))


def restart(counts):
    return (0, 0) if counts[0] == counts[1] else counts


def move(joint, present, action, update):
    """The joint state (counts, memory) after an action, and the pay: a waste is paid 0."""
    counts, memory = joint
    served = action if present[action] else None
    after = add(counts, served)
    pay = 0.0 if served is None else sum(math.log(count + 1) for count in after)
    return (after, update(memory, action, served)), pay


def chance(present, presence):
    return math.prod(p if there else 1 - p for there, p in zip(present, presence, strict=True))


def brute_force(horizon, presence, memory, separate_end=True):
    """The best over every deterministic policy π_t(who is present, memory).

    The choices of the last step do not interact, so they may be taken one by one, which is the
    same as going through all their combinations; `separate_end=False` does go through them.
    """
    start, update = MEMORIES[memory]

    def search(time, reached):
        memories = sorted({joint[1] for joint in reached}, key=repr)
        infos = [(present, m) for m in memories for present in NOISES]
        if memory != "last action":  # with nobody there both actions are the same waste
            infos = [info for info in infos if any(info[0])]
        if time == horizon - 1 and separate_end:
            return sum(max(pay_at(reached, *info, a) for a in (0, 1)) for info in infos)
        best = -math.inf
        for actions in itertools.product((0, 1), repeat=len(infos)):
            policy = dict(zip(infos, actions, strict=True))
            paid, after = 0.0, {}
            for joint, weight in reached.items():
                for present in NOISES:
                    action = policy.get((present, joint[1]), 0)
                    following, pay = move(joint, present, action, update)
                    here = weight * chance(present, presence)
                    paid += here * pay
                    after[following] = after.get(following, 0.0) + here
            best = max(best, paid + (search(time + 1, after) if time + 1 < horizon else 0.0))
        return best

    def pay_at(reached, present, m, action):
        return chance(present, presence) * sum(
            weight * move(joint, present, action, update)[1]
            for joint, weight in reached.items()
            if joint[1] == m
        )

    return search(0, {((0, 0), start): 1.0})


# The tests


@dataclass(frozen=True)
class LastAction(Memory):
    """What was done last, whether it served anyone or not."""

    def init(self, num_stakeholders):
        return np.asarray(num_stakeholders)

    def update(self, memory, step):
        return jnp.asarray(step.action, dtype=memory.dtype)

    def describe(self):
        return "what was done last"


OURS = {
    "none": Nothing(),
    "last winner": LastWinner(),
    "window 1": recent(1),
    "Full": Full(),
    "Min": Min(),
    "Reset": Reset(),
    "last action": LastAction(),
}


def price(horizon, presence=0.5, memories=None, size=2, **options) -> PriceTable:
    shop = Doughnuts(size, horizon, presence)
    chosen = standard_memories(size) if memories is None else memories
    return price_of_memory(shop, shop.nash_scheme(), chosen, **options)


@pytest.fixture(scope="module")
def four():
    """Everything that the standard memories are worth at T = 4."""
    return price(4, 0.8)


@pytest.mark.system
@pytest.mark.parametrize(
    ("horizon", "presence"), [(2, (0.5, 0.5)), (2, (0.3, 0.9)), (3, (0.3, 0.9))]
)
def test_it_is_the_best_of_all_restricted_policies(horizon, presence):
    found = price(horizon, presence, OURS)
    for name in OURS:
        expected = brute_force(horizon, presence, name)
        assert found[name].exact
        assert found[name].lower == pytest.approx(expected, abs=1e-9), name
        assert found[name].upper == pytest.approx(expected, abs=1e-6), name


def test_only_a_memory_that_reads_the_action_tells_two_wastes_apart():
    shop = Doughnuts(2, 2, 0.5)
    for name, memory in OURS.items():
        table = restrict(Problem(shop, shop.nash_scheme(), memory)).table
        assert table.model.merge_effects == (name != "last action")


def test_taking_the_last_step_apart_is_going_through_everything():
    for name in ("none", "last winner", "window 1"):
        whole = brute_force(2, (0.3, 0.9), name, separate_end=False)
        assert brute_force(2, (0.3, 0.9), name) == pytest.approx(whole, abs=1e-12)


def test_no_memory_over_five_steps():
    found = price(5, (0.7, 0.4), {"none": Nothing()})["none"]
    assert found.exact
    assert found.lower == pytest.approx(brute_force(5, (0.7, 0.4), "none"), abs=1e-9)


@pytest.mark.system
def test_all_are_exact_up_to_six_steps():
    few = {name: OURS[name] for name in ("none", "last winner", "window 1")}
    assert all(row.exact for row in price(5, 0.8, few, time_limit=300.0).rows)
    # Someone who is nearly always there makes some states so rare that a solver overlooks them.
    rare = {"none": Nothing()}
    for presence in (0.95, 0.99):
        assert price(6, presence, rare, time_limit=300.0)["none"].exact
    found = price(6, time_limit=300.0)
    assert all(row.exact and row.label == "exact" for row in found.rows)
    assert found["none"].lower < found["window 1"].lower - 1e-3
    assert found["window 2"].lower < found["window 3"].lower - 1e-4
    assert found["Min"].lower == pytest.approx(found.optimum, abs=1e-9)


def test_whoever_can_work_out_a_memory_does_no_worse(four):
    finer = [
        *(("Full", "Min"), ("Reset", "Min"), ("Min", "none"), ("last winner", "none")),
        *(("window 3", "window 2"), ("window 2", "window 1"), ("window 1", "none")),
    ]
    for more, less in finer:
        assert four[more].lower >= four[less].lower - 1e-9
    # Full determines the pay, so it is worth as much as all of history.
    assert all(four["Full"].lower >= row.lower - 1e-9 for row in four.rows)


def test_the_scale(four):
    shop = Doughnuts(2, 4, 0.8)
    best = plan(Problem(shop, shop.nash_scheme()))
    assert four["Full"].lower == pytest.approx(best.value, abs=1e-9)
    assert four.optimum == pytest.approx(best.value, abs=1e-12)
    assert four.random == pytest.approx(best.random_value(), abs=1e-12)
    assert four.random < four["none"].lower < four["window 1"].lower < four.optimum
    assert four["none"].share == (0.0, 0.0)
    assert four["Full"].share == pytest.approx((1.0, 1.0))
    low, high = four["window 1"].share
    way = four.optimum - four["none"].lower
    assert low == high == pytest.approx((four["window 1"].lower - four["none"].lower) / way)


def test_memory_sizes(four):
    sizes = {row.name: row.memory_size for row in four.rows}
    # Before the fourth decision: counts that sum to at most 3, their differences, the last three.
    assert sizes["none"] == 1
    assert sizes["last winner"] == 3
    assert (sizes["window 1"], sizes["window 2"], sizes["window 3"]) == (3, 9, 27)
    assert (sizes["Full"], sizes["Min"]) == (10, 7)


def test_the_policy_found_is_worth_what_is_said(four):
    for row in four.rows:
        assert row.restricted.value(row.decisions) == pytest.approx(row.lower, abs=1e-12)
    rules = four["last winner"].rules()
    both = {(rule["time"], rule["memory"]): rule for rule in rules if rule["noise"] == [True, True]}
    for rule in both.values():  # whoever was last served is not served again
        assert rule["memory"] == 2 or rule["action"] != rule["memory"]


@pytest.mark.parametrize("memory", [Full(), Min(), Nothing(), recent(1)])
def test_the_program_agrees_with_nothing_known_beforehand(memory, four):
    shop = Doughnuts(2, 4, 0.8)
    restricted = restrict(Problem(shop, shop.nash_scheme(), memory))
    worst = [np.zeros(restricted.num_infos, dtype=int) for _ in restricted.layers]
    bound, met = prove(restricted, -np.inf, worst, 60.0)
    names = {Full(): "Full", Min(): "Min", Nothing(): "none", recent(1): "window 1"}
    assert bound == pytest.approx(four[names[memory]].lower, abs=1e-6)
    assert ascend(restricted, met)[0] == pytest.approx(bound, abs=1e-6)


def test_ruling_out_keeps_a_best_policy(four):
    shop = Doughnuts(2, 4, 0.8)
    restricted = restrict(Problem(shop, shop.nash_scheme(), recent(1)))
    best = four["window 1"]
    bound, allowed = rule_out(restricted, best.lower, math.inf)
    assert best.lower - 1e-9 <= bound <= four.optimum + 1e-9
    assert all(may.any(axis=1).all() for may in allowed)
    everything = sum(int(restricted.candidates().sum()) for _ in allowed)
    assert sum(int(may.sum()) for may in allowed) < everything
    reached = restricted.reach(best.decisions)
    for time, (may, here) in enumerate(zip(allowed, reached, strict=True)):
        met = np.unique(restricted.info[restricted.layers[time][here > 0]])
        actions = best.decisions[time][met]
        # Where both actions are one waste, only the first stands in the table.
        single = restricted.candidates()[met].sum(axis=1) == 1
        assert (may[met, actions] | single).all()


def test_a_few_forced_actions_at_a_time_are_ruled_out_alike(monkeypatch, four):
    shop = Doughnuts(2, 4, 0.8)
    restricted = restrict(Problem(shop, shop.nash_scheme(), recent(1)))
    reached = four["window 1"].lower
    bound, allowed = rule_out(restricted, reached, math.inf)
    monkeypatch.setattr("evenhand.planning.restricted.BATCH", 3)
    few, still = rule_out(restricted, reached, math.inf)
    assert few == pytest.approx(bound, abs=1e-12)
    for one, other in zip(allowed, still, strict=True):
        np.testing.assert_array_equal(one, other)
    # Without time nothing is ruled out, and everything is seen.
    blind, everything = rule_out(restricted, reached, -math.inf)
    assert blind == pytest.approx(four.optimum, abs=1e-9)
    assert all((may == restricted.candidates()).all() for may in everything)


def test_the_policies_to_ascend_from(four):
    """Where everything is seen the first is the best already; the second remembers nothing."""
    shop = Doughnuts(2, 4, 0.8)
    rng = np.random.default_rng(0)
    seen = restrict(Problem(shop, shop.nash_scheme(), Full()))
    hopeful, memoryless, *others = starts(seen, rng, 2)
    assert seen.value(hopeful) == pytest.approx(four.optimum, abs=1e-9)
    assert len(others) == 2
    for decision in memoryless:
        for plain in np.unique(seen.plain):
            assert len(set(decision[seen.plain == plain])) == 1
    assert four.random < seen.value(memoryless) <= four["none"].lower + 1e-9
    assert {action for decision in others[0] for action in decision} == {0, 1}


def test_only_what_the_policy_comes_to_is_listed():
    rules = price(2, 1.0, {"all": Full()})["all"].rules()
    assert [rule["time"] for rule in rules] == [1, 2]
    first, second = (rule["action"] for rule in rules)
    assert second != first
    assert rules[1]["memory"] == [float(first == 0), float(first == 1)]


def test_what_the_solver_prints_is_not_on_stdout(monkeypatch, capfd):
    def noisy(*arguments, **options):
        os.write(1, b"a stray line of the solver")
        return milp(*arguments, **options)

    monkeypatch.setattr("evenhand.planning.restricted.milp", noisy)
    assert price(2, 0.5, {"window 1": recent(1), "none": Nothing()})["none"].exact
    print("after")
    captured = capfd.readouterr()
    assert captured.out == "after\n"
    assert "a stray line" in captured.err


def test_ascent_never_falls():
    shop = Doughnuts(3, 3, 0.6)
    restricted = restrict(Problem(shop, shop.nash_scheme(), LastWinner()))
    for start in starts(restricted, np.random.default_rng(1), 5):
        value, decisions = ascend(restricted, start)
        assert value >= restricted.value(start) - 1e-12
        assert value == pytest.approx(restricted.value(decisions), abs=1e-12)


@pytest.mark.parametrize("time_limit", [0.0, 1e-3])
def test_without_time_the_bounds_hold_the_best_between_them(time_limit, four):
    chosen = {name: OURS[name] for name in ("none", "window 1", "Full")}
    found = price(4, 0.8, chosen, time_limit=time_limit)
    for row in found.rows:
        best = four[row.name]
        assert row.lower <= best.lower + 1e-9 <= row.upper + 1e-6
        assert row.label == ("exact" if row.exact else "bounds")
        if row.share is not None:
            assert row.share[0] - 1e-9 <= best.share[0] <= row.share[1] + 1e-6
    assert found["Full"].exact  # what reaches the optimum is proved by that
    if time_limit == 0.0:
        assert not found["none"].exact
        assert found["none"].upper == pytest.approx(found.optimum)
        assert "bounds" in found.table()
        assert f"{found['none'].lower:.6f} to {found.optimum:.6f}" in found.table()


@pytest.mark.system
def test_three_customers():
    memories = {"none": Nothing(), "last winner": LastWinner(), "Min": Min()}
    found = price(4, 0.8, memories, size=3, time_limit=2.0)
    for row in found.rows:
        assert found.random < row.lower <= row.upper + 1e-9 <= found.optimum + 2e-9
        assert row.restricted.value(row.decisions) == pytest.approx(row.lower)
        assert row.exact == (row.upper - row.lower <= 1e-6)
    assert found["none"].lower < found["last winner"].lower < found.optimum


def test_lending_sees_credit_and_profit_whatever_it_remembers():
    bank = Lending(horizon=3)
    memories = {
        "none": Nothing(),
        "difference": GroupDifference(bank.groups),
        "groups": GroupFull(bank.groups),
    }
    found = price_of_memory(bank, bank.parity_scheme(), memories, time_limit=2.0)
    for name in ("difference", "groups"):  # each determines the pay
        assert found[name].exact
        assert found[name].lower == pytest.approx(found.optimum, abs=1e-9)
    none = found["none"]
    assert found.random < none.lower <= none.upper <= found.optimum + 1e-9


def test_the_same_seed_gives_the_same_table():
    memories = {"window 1": recent(1)}
    one, two = (price(3, 0.6, memories, time_limit=0.0, seed=3) for _ in range(2))
    assert one.to_json() == two.to_json()


def test_where_all_are_always_there_the_clock_is_memory_enough():
    found = price(4, 1.0, {"none": Nothing(), "Full": Full()})
    assert found["none"].lower == pytest.approx(found.optimum, abs=1e-9)
    assert found["none"].share is None
    assert found["none"].memory_size == 1
    # With nobody ever absent nothing is wasted: 3 doughnuts before the fourth decision.
    assert found["Full"].memory_size == 4


def test_the_table_without_none_still_knows_the_share(four):
    found = price(4, 0.8, {"window 1": recent(1)})
    assert found["window 1"].share == pytest.approx(four["window 1"].share, abs=1e-6)
    assert [row.name for row in found.rows] == ["window 1"]


def test_it_prints_and_draws(four):
    lines = four.table().splitlines()
    assert len(lines) == 3 + len(four.rows)
    assert lines[1].split()[:2] == ["(random)", f"{four.random:.6f}"]
    assert lines[2].split() == ["none", "1", f"{four['none'].lower:.6f}", "exact", "0.0%"]
    plain = json.loads(json.dumps(four.to_json()))
    assert plain["optimum"] == four.optimum
    assert plain["memories"][0]["name"] == "none"
    chart = four.chart().to_dict()
    marks = [layer["mark"]["type"] for layer in chart["layer"]]
    assert marks == ["rule", "rule", "point"]
    assert chart["layer"][0]["data"]["values"] == [{"optimum": four.optimum}]
    assert chart["layer"][1]["encoding"]["y2"]["field"] == "upper"
    drawn = [row["memory_size"] for row in chart["layer"][2]["data"]["values"]]
    assert drawn == [row.memory_size for row in four.rows]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memories": {}}, "no memories"),
        ({"memories": {"odd": "Full"}}, "'odd' is 'Full'"),
        ({"time_limit": -1.0}, "`time_limit` is -1.0"),
        ({"time_limit": math.nan}, "`time_limit` is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"seed": True}, "seed is True"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(BadParameter, match=message):
        price(2, **options)


def test_a_name_that_is_not_there(four):
    with pytest.raises(BadParameter, match="no memory called 'Max'"):
        four["Max"]


# Bounds on a share, by hand: (score − none) / (optimum − none)


def bounded_by(lower, upper=None):
    return _Found(None, [], lower, lower if upper is None else upper)


@pytest.mark.parametrize(
    ("best", "none", "optimum", "expected"),
    [
        # All exact: 3 of the 4 from 1 to 5.
        (bounded_by(4.0), bounded_by(1.0), 5.0, (0.75, 0.75)),
        # The score lies in 2 … 4: between 1/4 and 3/4 of the way.
        (bounded_by(2.0, 4.0), bounded_by(1.0), 5.0, (0.25, 0.75)),
        # None lies in 1 … 3: at least ½ of the way from 3, at most ¾ of that from 1.
        (bounded_by(4.0), bounded_by(1.0, 3.0), 5.0, (0.5, 0.75)),
        # It may be that none does as well: a share is never below 0 nor above 1.
        (bounded_by(2.0, 5.5), bounded_by(1.0, 3.0), 5.0, (0.0, 1.0)),
        # None may reach the optimum, so nothing is known from below.
        (bounded_by(2.0, 4.0), bounded_by(1.0, 5.0), 5.0, (0.0, 0.75)),
        # There is no way to go.
        (bounded_by(5.0), bounded_by(5.0), 5.0, None),
    ],
)
def test_shares_by_hand(best, none, optimum, expected):
    assert _share(best, none, optimum) == (None if expected is None else pytest.approx(expected))


def test_the_share_of_no_memory_is_nothing():
    none = bounded_by(1.0, 2.0)
    assert _share(none, none, 5.0) == (0.0, 0.0)


def test_bounds_this_close_are_exact():
    assert bounded_by(1.0, 1.0 + 0.9e-6).exact
    assert not bounded_by(1.0, 1.0 + 1.1e-6).exact


def test_a_bound_is_never_below_what_was_reached(four):
    """Nor above the relaxation, in which everything is seen."""
    shop = Doughnuts(2, 4, 0.8)
    restricted = restrict(Problem(shop, shop.nash_scheme(), recent(1)))
    best = four["window 1"]
    for reached in (best.lower, best.lower - 0.05):
        bound, _ = prove(restricted, reached, best.decisions, 60.0)
        assert bound == pytest.approx(best.lower, abs=1e-6)
    assert prove(restricted, best.lower, best.decisions, 0.0) == (np.inf, best.decisions)


def test_relabelled_customers_have_the_same_prices():
    memories = {"none": Nothing(), "last winner": LastWinner(), "window 1": recent(1)}
    one, other = (price(3, presence, memories) for presence in ((0.3, 0.9), (0.9, 0.3)))
    assert (one.random, one.optimum) == pytest.approx((other.random, other.optimum))
    for name in memories:
        assert one[name].lower == pytest.approx(other[name].lower, abs=1e-9)
        assert one[name].memory_size == other[name].memory_size
        assert one[name].share == pytest.approx(other[name].share, abs=1e-6)


# The table in plain text, and the chart, from rows made by hand


def made(name, size, lower, upper, share):
    return PriceRow(name, "something", size, lower, upper, lower == upper, share, None, [])


MADE = PriceTable(
    (
        made("none", 1, 2.0, 2.0, (0.0, 0.0)),
        made("window 1", 13, 3.0, 3.5, (0.25, 0.375)),
        made("all", 5, 6.0, 6.0, None),
    ),
    random=1.0,
    optimum=6.0,
)


def test_rows_are_told_apart_by_their_numbers_alone():
    one = made("none", 1, 2.0, 2.0, None)
    assert one == replace(one, restricted="how it was found", decisions=[0])
    assert one != replace(one, lower=1.0)
    assert "restricted" not in repr(one)
    assert "decisions" not in repr(one)


def test_the_table_by_hand():
    assert MADE.table().splitlines() == [
        "memory     size                 score          share of the way",
        "(random)                     1.000000  exact",
        "none          1              2.000000  exact               0.0%",
        "window 1     13  3.000000 to 3.500000  bounds    25.0% to 37.5%",
        "all           5              6.000000  exact                  -",
        "(optimum)                    6.000000  exact",
    ]
    plain = MADE.to_json()
    assert [row["share"] for row in plain["memories"]] == [[0.0, 0.0], [0.25, 0.375], None]
    assert [row["label"] for row in plain["memories"]] == ["exact", "bounds", "exact"]
    assert (plain["random"], plain["optimum"]) == (1.0, 6.0)


def test_the_chart_has_a_tenth_to_spare():
    def domain(table):
        layers = table.chart().to_dict()["layer"]
        (found,) = {
            tuple(layer["encoding"]["y"]["scale"]["domain"])
            for layer in layers
            if "scale" in layer["encoding"]["y"]
        }
        return found

    assert domain(MADE) == pytest.approx((1.6, 6.4))
    assert domain(PriceTable(MADE.rows[2:], 1.0, 6.0)) == pytest.approx((5.9, 6.1))


def test_the_standard_memories():
    found = standard_memories(2)
    assert list(found) == [
        *("none", "last winner", "window 1", "window 2", "window 3", "Reset", "Min", "Full"),
    ]
    assert found["window 2"] == recent(2)
    assert (found["none"], found["Min"], found["Full"]) == (Nothing(), Min(), Full())
    assert "window 4" in standard_memories(2, windows=(4,))


def test_what_is_seen_and_done_is_listed_step_by_step():
    """One is always there: two things can be seen at each step, who is there being all of it."""
    found = price(2, (1.0, 0.5), {"none": Nothing()})["none"]
    rules = found.rules()
    assert [(rule["time"], rule["noise"]) for rule in rules] == [
        *((1, [True, False]), (1, [True, True]), (2, [True, False]), (2, [True, True])),
    ]
    # Whoever is there alone is served; with both there it is once the one and once the other.
    assert [rule["action"] for rule in rules if rule["noise"] == [True, False]] == [0, 0]
    both = [rule["action"] for rule in rules if rule["noise"] == [True, True]]
    assert both in ([1, 1], [0, 1], [1, 0])


def test_actions_that_do_the_same_are_one_choice():
    shop = Doughnuts(2, 2, 0.5)
    restricted = restrict(Problem(shop, shop.nash_scheme(), Nothing()))
    may = restricted.candidates()[restricted.info[0]]
    present = np.asarray(restricted.table.model.noise[0])
    for choices, there in zip(may.tolist(), present.tolist(), strict=True):
        # With nobody there, to serve the one or the other is the same waste.
        assert choices == ([True, True] if any(there) else [True, False])


def test_a_program_too_large_is_left_to_the_relaxation(monkeypatch, four):
    shop = Doughnuts(2, 4, 0.8)
    restricted = restrict(Problem(shop, shop.nash_scheme(), Nothing()))
    best = four["none"]
    relaxed, allowed = rule_out(restricted, best.lower, math.inf)
    flows = sum(
        int(may[restricted.info[layer]].sum())
        for may, layer in zip(allowed, restricted.layers, strict=True)
    )
    monkeypatch.setattr("evenhand.planning.restricted.MAX_FLOWS", flows)
    assert prove(restricted, best.lower, best.decisions, 60.0)[0] == pytest.approx(best.lower)
    monkeypatch.setattr("evenhand.planning.restricted.MAX_FLOWS", flows - 1)
    bound, decisions = prove(restricted, best.lower, best.decisions, 60.0)
    assert bound == pytest.approx(max(relaxed, best.lower), abs=1e-12)
    assert decisions is best.decisions


def test_outcomes_that_cannot_be_listed_have_no_price():
    bank = GaussianLending(horizon=3)
    with pytest.raises(CannotPlan, match="outcomes cannot be listed"):
        price_of_memory(bank, bank.parity_scheme(), {"all": Full()})
