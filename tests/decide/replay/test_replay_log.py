"""Tests of decide.replay.replay_log."""

from __future__ import annotations

import inspect
import itertools

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import audit, best_there_was, smallest_change
from evenhand.decide.replay.answer import write_replayed
from evenhand.decide.replay.replay_log import (
    USUAL,
    ReplayOptions,
    longest_waits,
    replay,
    replay_with,
)
from evenhand.decide.replay.supply import Decisions
from evenhand.decide.rules.built_in import ByReceived, Lottery
from evenhand.decide.rules.rule import ByDraw
from evenhand.errors import BadParameter
from evenhand.log.history import Lots, Roster, TimedAmounts
from evenhand.log.log import Supply
from evenhand.log.options import OF_AUDITS_ALONE, AuditOptions

# Waits by hand, and against a plain loop over time points.

EMPTY = np.zeros(0, dtype=np.int64)


def waits(given_out, names=("A", "B"), roster=None, requests=None):
    slot, who, amount = (np.array(part) for part in zip(*sorted(given_out), strict=True))
    beside = {}
    if requests is not None:
        at, whose, asked = map(np.array, zip(*sorted(requests), strict=True))
        beside["asked"] = TimedAmounts(at.astype(float), whose, asked, len(names))
    lots = Lots(EMPTY, EMPTY, EMPTY.astype(float), EMPTY)
    supply = Supply(names, np.arange(10.0), lots, roster, None, beside)
    return longest_waits(supply, Decisions(slot, who, amount.astype(float), np.zeros(10)))


def test_from_the_start_between_receipts_and_to_the_end():
    assert waits([(2, 0, 1), (7, 0, 1), (0, 1, 1), (4, 1, 1)]).tolist() == [5.0, 5.0]


def test_within_a_stay():
    roster = Roster(("A", "B"), {"A": 1.0}, {"A": 4.0, "B": -1.0})
    found = waits([(2, 0, 1)], roster=roster)
    assert found[0] == 2.0
    assert np.isnan(found[1])  # was gone before the log begins


def test_from_a_request_until_it_is_met_in_full():
    requests = [(0, 0, 2.0), (3, 0, 1.0), (5, 1, 4.0)]
    given_out = [(1, 0, 1.0), (4, 0, 1.0), (6, 0, 1.0), (7, 1, 3.0)]
    # A: 2 are there by 4 (asked at 0), 3 by 6 (asked at 3). B's request is open at the end, 9.
    assert waits(given_out, requests=requests).tolist() == [4.0, 4.0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.just(1.0)), min_size=1))
def test_the_longest_run_of_time_points_without(given_out):
    found = waits(given_out)
    for who in (0, 1):
        times = [0, *sorted(slot for slot, one, _ in given_out if one == who), 9]
        assert found[who] == max(b - a for a, b in itertools.pairwise(times))


# A replay judged: the same figures as an audit of the same log.

COLUMNS = {"stakeholder": "to", "time": "month", "amount": "doses"}
# Each log is read and judged five times, which is too much for many examples.
SEEDS = [0, 1, 2]


def random_rows(seed):
    rng = np.random.default_rng(seed)
    return [
        (int(rng.integers(1, 7)), "ABC"[rng.integers(3)], int(rng.integers(1, 10)))
        for _ in range(10)
    ]


def log_of(rows):
    return pd.DataFrame(sorted(rows), columns=["month", "to", "doses"])


def replayed(log, *rules, ties=None, **more):
    options = AuditOptions(**COLUMNS, **more)
    asked = ReplayOptions(rules) if ties is None else ReplayOptions(rules, ties)
    return replay_with(log, options, asked)


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("seed", SEEDS)
def test_the_log_and_what_is_written_of_a_rule_score_as_in_an_audit(seed, tmp_path):
    rows, folder = random_rows(seed), tmp_path
    answer = replayed(log_of(rows), "least_served", welfare="gini")
    assert answer.logged.score == pytest.approx(
        audit(log_of(rows), **COLUMNS, welfare="gini").score
    )
    for name in ("log.csv", "log.parquet"):
        path = folder / name
        write_replayed(path, answer, answer.outcomes[0], AuditOptions(**COLUMNS))
        names = [name for name in "ABC" if name in {to for _, to, _ in rows}]
        again = audit(path, **COLUMNS, welfare="gini", roster=names)
        assert again.score == pytest.approx(answer.outcomes[0].score)
        assert again.overall.first == audit(log_of(rows), **COLUMNS).overall.first


def test_names_are_the_same_in_parquet(tmp_path):
    rows = [(month, f"'{to}'", 1) for month, to, _ in random_rows(SEEDS[0])]
    answer, path = replayed(log_of(rows), "least_served"), tmp_path / "log.parquet"
    write_replayed(path, answer, answer.outcomes[0], AuditOptions(**COLUMNS))
    assert set(pd.read_parquet(path)["to"]) <= {to for _, to, _ in rows}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_rule_made_it_would_make_again(seed):
    """The log of least served, replayed by least served, is itself."""
    rows = list({(month, to): (month, to, 1) for month, to, _ in random_rows(seed)}.values())
    once = replayed(log_of(rows), "least_served").outcomes[0].given
    made = pd.DataFrame(
        {
            "month": once.slot,
            "to": np.array(sorted({to for _, to, _ in rows}))[once.who],
            "doses": once.amount,
        }
    )
    again = replayed(made, "least_served")
    assert again.outcomes[0].given.who.tolist() == once.who.tolist()
    assert again.outcomes[0].score == again.logged.score


def test_by_hand():
    """A, A, B, B with 20,000 each: B waits two months, and least served gives in turn."""
    log = log_of([(1, "A", 20), (2, "A", 20), (3, "B", 20), (4, "B", 20)])
    answer = replayed(log, "least_served", "even_out", welfare="parity")
    assert answer.logged.score == -20.0  # 20, 40, 20, 0
    least, even = answer.outcomes
    assert least.score == -10.0  # 20, 0, 20, 0
    assert even.score == 0.0
    assert (answer.logged.worst, least.worst, even.worst) == (("B",), ("B",), ())
    assert (answer.logged.longest_wait, even.longest_wait) == (2.0, 1.0)
    assert answer.verdict == (
        "even_out would have been fairest, with a score of 0 against −20. B would have had 40 "
        "doses on average 1 sooner."
    )


def test_requests_that_are_not_met_and_what_is_left_over():
    """B, who leaves after month 1, is passed over: in month 2 nobody is there to take the rest."""
    log = log_of([(1, "B", 5), (2, "A", 5)])
    requests = pd.DataFrame({"month": [1, 1], "to": ["A", "B"], "doses": [5, 5]})
    roster = pd.DataFrame({"name": ["A", "B"], "until": [None, 1]})
    answer = replayed(log, "least_served", requests=requests, asked="doses", roster=roster)
    assert (answer.logged.unmet, answer.outcomes[0].unmet) == (0.0, 5.0)
    assert answer.outcomes[0].left_over == 5.0
    assert any("5 could not be given" in note for note in answer.notes)


def test_requests_after_the_last_row_are_not_unmet():
    log = log_of([(1, "A", 2), (2, "B", 1)])
    requests = pd.DataFrame({"month": [1, 1, 9], "to": ["A", "B", "B"], "doses": [2, 2, 40]})
    answer = replayed(log, "least_served", requests=requests, asked="doses")
    assert (answer.logged.unmet, answer.outcomes[0].unmet) == (1.0, 1.0)
    assert any("1 request came after the last row" in note for note in answer.notes)


def test_the_usual_rules_are_replayed_where_none_is_named():
    log = log_of([(1, "A", 5), (2, "B", 5)])
    assert [one.name for one in replay(log, **COLUMNS).outcomes] == [
        *("least_served", "even_out", "proportional", "longest_wait", "lottery")
    ]


def test_a_seed_decides_ties_and_lotteries():
    rows = [(month, "A", 1) for month in range(1, 7)] + [(1, "B", 1), (1, "C", 1)]
    first, again, other = (
        replayed(log_of(rows), "longest_wait", ties=ByDraw(seed)).outcomes[0].given.who.tolist()
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_none_is_fairer_is_said():
    log = log_of([(1, "A", 1), (2, "B", 1)])
    assert "None of these rules" in replayed(log, "least_served").verdict
    # Three times 0.1 is a little more than 0.3, by which nobody is treated fairer.
    rounded = log_of([(1, "A", 0.1), (2, "A", 0.1), (3, "A", 0.1), (4, "B", 0.3)])
    answer = replayed(rounded, "proportional", at_end=True, welfare="rawls")
    assert answer.outcomes[0].score == pytest.approx(answer.logged.score, rel=1e-12)
    assert "None of these rules" in answer.verdict


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"stock": True}, "`stock`"),
        ({"out_of": "month2"}, "`out_of`"),
        ({"run": "run"}, "`run`"),
        ({"before": 3}, "`before`"),
    ],
)
def test_what_is_not_given_out_cannot_be_replayed(more, said):
    with pytest.raises(BadParameter, match=said):
        replayed(log_of([(1, "A", 5)]), "least_served", **more)


def test_nothing_to_give_out_changes_nothing():
    answer = replayed(log_of([(1, "A", 0), (2, "B", 0)]), "least_served", "even_out")
    for one in answer.outcomes:
        assert one.score == answer.logged.score
        assert all(gain.sooner == 0.0 for gain in one.gains)


def test_where_the_best_is_not_known_no_option_is_advised_that_a_replay_does_not_have():
    rows = pd.DataFrame({"who": ["A", "B", "A"], "when": [1, 2, 3], "much": [1, 2, 3]})
    options = {"stakeholder": "who", "time": "when", "amount": "much", "welfare": "jain"}
    (note,) = (one for one in replay(rows, **options).notes if "not known" in one)
    assert note == (
        "The best there was is not known: the best there was cannot be found for this score "
        "(Jain's index is a ratio, whose sum over time has many peaks)."
    )
    with pytest.raises(BadParameter, match="rawls or gini, or leave `best` out"):
        best_there_was(rows, **options)


def test_a_rule_that_needs_requests_is_refused_without():
    with pytest.raises(BadParameter, match="whoever asked first needs requests"):
        replayed(log_of([(1, "A", 5)]), "first_come")


@pytest.mark.parametrize("seed", SEEDS)
def test_no_rule_does_better_than_the_best_there_was(seed):
    answer = replayed(log_of(random_rows(seed)), "least_served", "even_out", "lottery")
    for one in answer.everything:
        assert one.score <= answer.best.bound + 1e-6
        assert answer.to_best(one) == pytest.approx(max(0.0, answer.best.score - one.score))
    # Everyone there all along and no requests: to even out at every time is the best there is, up
    # to whole units.
    even = answer.outcomes[1]
    assert answer.to_best(even) < 0.5 * answer.to_best(answer.logged)


class Learned(ByReceived):
    """A rule that counts as learned, and serves whoever has least or, with −1, most."""

    learned = True

    def __init__(self, sign):
        object.__setattr__(self, "newcomers", "mean")
        object.__setattr__(self, "sign", sign)

    def with_newcomers(self, newcomers):
        return self

    def index(self, memory, entitlement):
        return self.sign * super().index(memory, entitlement)

    def describe(self):
        return "whoever it was learned to be"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (["even_out"], None),
        ([Learned(1)], "Learned is not better than least_served here: both score the same."),
        ([Learned(-1)], "Learned is not better than least_served here: it scores"),
        ([Learned(1), "longest_wait"], "Learned is not better than least_served here: both"),
    ],
)
def test_whether_a_policy_is_better_than_least_served_is_said(rules, words):
    log = pd.DataFrame({"t": range(8), "to": list("AABBABAB"), "n": [1, 2, 1, 3, 1, 1, 2, 4]})
    options = AuditOptions(stakeholder="to", time="t", amount="n")
    answer = replay_with(log, options, ReplayOptions(rules))
    if words is None:
        assert answer.learned == []
        return
    assert [one.name for one in answer.outcomes].count("least_served") == 1
    assert answer.learned[0].startswith(words)
    assert answer.to_json()["learned"] == answer.learned


def test_from_python_with_rules_by_name_or_made():
    log = log_of(random_rows(0))
    found = replay(log, rules=["least_served", Lottery(3)], **COLUMNS)
    asked = replayed(log, "least_served", Lottery(3))
    assert [one.name for one in found.outcomes] == [one.name for one in asked.outcomes]
    assert [one.score for one in found.outcomes] == [one.score for one in asked.outcomes]
    usual = replay(log, **COLUMNS)
    assert [one.name for one in usual.outcomes] == list(USUAL)
    assert replay(log, seed=5, **COLUMNS).outcomes[-1].rule == Lottery(5)


def test_the_arguments_of_a_replay_are_its_own_and_those_of_an_audit():
    names = set(inspect.signature(replay).parameters)
    assert names == set(inspect.signature(audit).parameters) | {"rules"}


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_as_a_data_frame(backend):
    found = replay(log_of(random_rows(0)), rules=["least_served"], **COLUMNS)
    frame = nw.from_native(found.to_frame(backend), eager_only=True)
    assert frame["rule"].to_list() == ["as logged", "least_served"]
    assert frame["score"].to_list() == [found.logged.score, found.outcomes[0].score]
    assert frame["worst_off"].to_list() == ["; ".join(one.worst) for one in found.everything]
    assert frame["moved"].to_list() == [0.0, found.outcomes[0].moved]
    rows = [found.to_json()["logged"], *found.to_json()["rules"]]
    for name in ("to_best", "worst_unfairness", "longest_wait"):
        assert frame[name].to_list() == [row[name] for row in rows]
    assert frame["left_over"].to_list() == [one.left_over for one in found.everything]


def test_of_a_burden_it_is_said_who_is_relieved_and_what_was_logged():
    """Ann bears 9 of 12 nights; shared evenly she would bear 4, and each a third of every lot."""
    rows = [(1, "Ann", 3), (2, "Ann", 3), (3, "Ben", 2), (4, "Cem", 1), (5, "Ann", 3)]
    how = {**COLUMNS, "lower_is_better": True}
    found = replay(log_of(rows), rules=["even_out"], **how)
    assert found.verdict.endswith(
        "Ann would have had 4 doses on average 1.5 later and received 5 less."
    )
    (even,) = found.outcomes
    who = [sentence.split()[0] for sentence in found.changes(even)]
    assert who == ["Ann", "Cem"]  # who is relieved, then who has most more to bear
    assert found.rows()[0][found.columns().index("by")] == "+17.33"
    logged = audit(log_of(rows), **how)
    assert found.logged.worst == ("Ann",)
    assert found.to_json()["logged"]["worst_unfairness"] == pytest.approx(
        logged.stakeholder("Ann").overall_unfairness
    )  # below 0 is worse off, as in the JSON of an audit
    more = replay(log_of(rows), rules=["even_out"], **COLUMNS)
    assert more.rows()[0][more.columns().index("by")].startswith("−")
    assert more.changes(more.outcomes[0])[0].startswith("Cem")


def test_of_two_who_are_level_whoever_joined_first_is_served():
    """B is there from the start, A from the second month, at the mean: 2 each before the lot."""
    rows = [(1, "B", 2), (2, "A", 1)]
    roster = pd.DataFrame({"name": ["A", "B"], "from": [2, None]})
    found = replay(log_of(rows), rules=["least_served"], roster=roster, **COLUMNS)
    served = found.outcomes[0].given
    names = [found.supply.names[who] for who in served.who[served.amount > 0]]
    assert names == ["B", "B"]
    assert found.ties == "by who joined first, then by the order of the stakeholders"


def test_one_rule_need_not_be_a_list_and_an_answer_is_shown_by_its_verdict():
    log = log_of(random_rows(0))
    found = replay(log, rules="least_served", **COLUMNS)
    assert [one.name for one in found.outcomes] == ["least_served"]
    assert replay(log, rules=Lottery(2), **COLUMNS).outcomes[0].rule == Lottery(2)
    assert repr(found) == f"<ReplayAnswer of the table: {found.verdict}>"
    assert repr(audit(log, **COLUMNS)).startswith("<Answer of the table: ")


def test_who_asked_before_the_first_lot_came_first():
    log = pd.DataFrame({"month": [10, 11], "to": ["A", "Z"], "doses": [1, 1]})
    requests = pd.DataFrame({"month": [1, 5], "to": ["Z", "A"], "asked": [1, 1]})
    answer = replayed(log, "first_come", requests=requests, asked="asked")
    given = answer.outcomes[0].given
    assert ["AZ"[who] for who in given.who[np.argsort(given.slot)]] == ["Z", "A"]


def test_who_waits_from_before_the_date_still_came_first():
    log = pd.DataFrame({"month": [1, 10, 11], "to": ["Y", "A", "Z"], "doses": [1, 1, 1]})
    requests = pd.DataFrame({"month": [1, 2, 5], "to": ["Y", "Z", "A"], "asked": [1, 1, 1]})
    answer = replayed(log, "first_come", requests=requests, asked="asked", since=10)
    given = answer.outcomes[0].given
    assert ["AYZ"[who] for who in given.who[np.argsort(given.slot)]] == ["Z", "A"]
    assert given.amount.sum() == 2  # what Y had before is not given again


def test_who_asked_before_it_joined_came_first():
    """A and Z join together, and Z had asked before: it is served first, as it waited longest."""
    log = pd.DataFrame({"month": [10, 11, 12], "to": ["Y", "A", "Z"], "doses": [1, 1, 1]})
    requests = pd.DataFrame({"month": [1, 2, 5], "to": ["Y", "Z", "A"], "asked": [1, 1, 1]})
    roster = pd.DataFrame({"name": ["A", "Y", "Z"], "from": [11, 1, 11]})
    answer = replayed(log, "first_come", requests=requests, asked="asked", roster=roster)
    given = answer.outcomes[0].given
    assert ["AYZ"[who] for who in given.who[np.argsort(given.slot)]] == ["Y", "Z", "A"]


def test_least_served_beside_a_policy_lets_newcomers_begin_where_the_audit_does():
    log = log_of([(month, "AB"[month > 5], 1) for month in range(1, 9)])
    roster = pd.DataFrame({"name": ["A", "B"], "from": [1, 5]})
    more = {"roster": roster, "newcomers": "zero"}
    beside = replayed(log, Learned(-1), **more).outcomes[1]
    alone = replayed(log, "least_served", **more).outcomes[0]
    assert (beside.name, beside.score) == ("least_served", pytest.approx(alone.score))


def test_running_totals_are_written_as_running_totals(tmp_path):
    log = log_of([(1, "A", 40), (2, "A", 70), (3, "B", 20), (4, "A", 100), (5, "C", 20)])
    answer = replayed(log, "least_served", cumulative=True)
    for name in ("log.csv", "log.parquet"):
        write_replayed(
            tmp_path / name, answer, answer.outcomes[0], AuditOptions(**COLUMNS, cumulative=True)
        )
        again = audit(
            tmp_path / name, **COLUMNS, cumulative=True, roster=["A", "B", "C"], chance=False
        )
        assert again.score == pytest.approx(answer.outcomes[0].score)


def test_a_half_life_without_a_unit_is_said_in_days_where_times_are_dates():
    log = log_of([("2024-01-01", "A", 4), ("2024-01-09", "B", 2)])
    described = replayed(log, "half_life:7").to_json()["rules"][0]["describe"]
    assert described.endswith("amounts count half after 7 days")


@pytest.mark.parametrize("name", OF_AUDITS_ALONE)
def test_what_only_an_audit_has_a_use_for_is_refused(name):
    """A limit that nobody looks at would be kept whatever the log says."""
    values = {"null": "shuffle", "power": True, "draws": 9, "tolerance": 1, "max_unfairness": 1}
    values |= {"min_score": 5.0, "alarm": 0.05, "display_names": {"A": "Ann"}}
    more = {name: values.get(name, "A"), **({"group": "to"} if name == "reference" else {})}
    log = log_of(random_rows(0))
    for asked in (replay, best_there_was, smallest_change):
        with pytest.raises(BadParameter, match=f"`{name}` is for an audit"):
            asked(log, **COLUMNS, **more)


def test_the_unit_stands_behind_amounts():
    found = replay(log_of(random_rows(0)), rules="even_out", unit="kg", **COLUMNS)
    assert any(" kg " in sentence for sentence in found.changes(found.outcomes[0]))
