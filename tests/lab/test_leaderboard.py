"""The leaderboard of made-up results, by hand: losses first."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evenhand.lab.benchmark_results import BenchmarkResults, BenchmarkRun, PairFacts
from evenhand.lab.leaderboard import Leaderboard, loss_sentences

SHOP = PairFacts({"name": "shop"}, "long-term", "words", 10.0, 0.0)
CLINIC = PairFacts({"name": "clinic"}, "anytime", "words", 110.0, 10.0)
SEA = PairFacts({"name": "sea"}, "anytime", "words", None, 0.0, "no known optimum: too large")
METHODS = {
    "fairqcm": {"line": "ours", "learns": True},
    "peer": {"line": "theirs", "learns": True},
    "rule": {"line": "a rule", "learns": False},
}


def runs(pair, method, curves, means=None):
    return [
        BenchmarkRun(pair, method, seed, {}, tuple(curve), means, 2.0)
        for seed, curve in enumerate(curves)
    ]


def board(extra=()):
    return Leaderboard(
        BenchmarkResults(
            1000,
            {"shop": SHOP, "clinic": CLINIC, "sea": SEA},
            METHODS,
            [
                *runs("shop", "fairqcm", [[5, 9.6], [9.7, 9.8]], means=9.9),
                *runs("shop", "peer", [[1, 2], [3, 4]]),
                *runs("shop", "rule", [[10, 10], [10, 10]]),
                *runs("clinic", "fairqcm", [[10, 60], [10, 60]]),
                *runs("clinic", "peer", [[10, 85], [10, 85]]),
                *runs("sea", "fairqcm", [[1, 3], [1, 3]]),
                *runs("sea", "peer", [[1, 2], [1, 2]]),
                *extra,
            ],
        )
    )


def test_the_best_is_first_and_the_share_is_of_the_way():
    rows = board().rows
    assert [row.method for row in rows["shop"]] == ["rule", "fairqcm", "peer"]
    assert [row.method for row in rows["clinic"]] == ["peer", "fairqcm"]
    peer = rows["clinic"][0]
    assert peer.share == (0.75, 0.75, 0.75)
    assert peer.regret == 25.0
    ours = rows["shop"][1]
    assert ours.share.value == pytest.approx(0.97)
    assert ours.welfare_of_means == 9.9
    assert ours.seconds == 2.0


def test_steps_count_from_where_it_stays():
    by_name = {row.method: row for row in board().rows["shop"]}
    # One seed is there from the first of two evaluations on, the other from the second: 500, 1000.
    assert by_name["fairqcm"].steps_to_level == 750
    assert by_name["fairqcm"].reached == 2
    assert by_name["peer"].steps_to_level is None
    assert by_name["rule"].steps_to_level is None  # it takes none
    again = runs("clinic", "peer", [[110, 20]])[0]
    again = {row.method: row for row in board([replace(again, seed=9)]).rows["clinic"]}["peer"]
    assert (again.seeds, again.reached) == (3, 0)


def test_a_world_without_a_known_optimum_has_scores_and_no_share():
    ours = board().rows["sea"][0]
    assert (ours.method, ours.score.value, ours.share, ours.regret) == ("fairqcm", 3.0, None, None)
    assert board().known == ["shop", "clinic"]


def test_what_is_lost_is_said_first():
    found = board()
    assert [(loss.pair, loss.peer) for loss in found.losses] == [("clinic", "peer")]
    assert found.contested == 3
    first, second = loss_sentences(found)
    assert first == "fairqcm is not ahead of every peer that learns on 1 of 3 pairs:"
    words = "fewer than 6 runs each, too few to tell"
    assert second.strip() == f"clinic: peer 75.0%, fairqcm 50.0% ({words})."


@pytest.mark.parametrize(("best", "words"), [(60, "are apart"), (110, "overlap")])
def test_intervals_are_compared_where_there_are_enough_runs(best, words):
    ours, theirs = [60] * 5 + [best], [85] * 6
    clinic = [
        *runs("clinic", "fairqcm", [[score] for score in ours]),
        *runs("clinic", "peer", [[score] for score in theirs]),
    ]
    found = Leaderboard(BenchmarkResults(1000, {"clinic": CLINIC}, METHODS, clinic))
    assert f"(the intervals {words})" in loss_sentences(found)[1]


def test_a_rule_that_does_not_learn_is_no_loss():
    assert all(loss.pair != "shop" for loss in board().losses)


@pytest.mark.system  # takes seconds
def test_all_pairs_together():
    standings = {one.method: one for one in board().standings}
    # Ours: 0.96, 0.98, 0.5, 0.5; the peer's: 0.2, 0.4, 0.75, 0.75; the middle two of each.
    assert standings["fairqcm"].share.value == pytest.approx((0.5 + 0.96) / 2)
    assert standings["peer"].share.value == pytest.approx((0.4 + 0.75) / 2)
    assert standings["peer"].ours_better.value == pytest.approx(0.5)  # always here, never there
    assert standings["rule"].pairs == 1
    assert standings["fairqcm"].ours_better is None
    assert board().profile("fairqcm")[50] == 1.0
    assert board().profile("fairqcm")[51] == 0.5
    assert json.loads(json.dumps(board().to_json()))["contested"] == 3


def test_level_is_not_ahead():
    level = Leaderboard(
        BenchmarkResults(
            1000,
            {"shop": SHOP},
            METHODS,
            [
                *runs("shop", "fairqcm", [[0, 0.0], [0, 0.0]]),
                *runs("shop", "peer", [[0, 0.0], [0, 0.0]]),
            ],
        )
    )
    assert loss_sentences(level)[1].strip() == "shop: level with peer, both 0.0%."
