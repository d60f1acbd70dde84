"""Real logs of a language-model server: other schedulers replayed on the one that was first come.

A row is a request that was served: a lot, whose size is its cost and whose time is that of its
first token. Replayed, a client is given the server's time from then until it was finished. The
measure is the study's: see examples/serving.py.
"""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pandas as pd
import pytest

from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.log.options import AuditOptions
from places import ROOT, SERVING

pytestmark = pytest.mark.skipif(not SERVING.exists(), reason="the logs are not in a clone")

# What the study ran, and the rule that is the same.
SCHEDULERS = {
    "first_come": "first_come",
    "least_counter": {"name": "least_served", "newcomers": "zero"},
    "virtual_tokens": "virtual_time",
}
# Largest and mean, as in the study's table.
STUDY = {
    "first_come": (759.97, 433.53),
    "least_counter": (750.49, 323.82),
    "virtual_tokens": (368.40, 251.66),
}


@pytest.fixture(scope="module")
def serving():
    spec = importlib.util.spec_from_file_location("serving", ROOT / "examples" / "serving.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def replayed(serving):
    """The largest and the mean difference of each scheduler, replayed on the log of first come."""
    log = pd.read_csv(SERVING / "first_come.csv")
    log = log[log["aborted"] == 0].assign(
        client=log["client"].astype(str), cost=log["prompt_tokens"] + 2 * log["output_tokens"]
    )
    options = AuditOptions(
        stakeholder="client",
        time="first_token_at",
        amount="cost",
        requests=log[["client", "asked_at", "cost"]].rename(columns={"asked_at": "first_token_at"}),
        asked="cost",
        judge_requests="while_waiting",
    )
    answer = replay_with(log, options, ReplayOptions(tuple(map(_rule, SCHEDULERS.values()))))
    return {
        name: _difference(serving, log, answer.supply, one.given)
        for name, one in zip(SCHEDULERS, answer.outcomes, strict=True)
    }


def _rule(written):
    from evenhand.decide.rules.built_in import rule_of

    return rule_of(written)


def _difference(serving, log, supply, given):
    """The study's measure of who was given what, each lot over the time that it took."""
    ends = log.groupby("first_token_at")["finished_at"].max()
    start = supply.moments[given.slot]
    rows = pd.DataFrame(
        {
            "client": np.array(supply.names)[given.who],
            "asked_at": np.inf,
            "first_token_at": start,
            "finished_at": ends.loc[start].to_numpy(),
            "prompt_tokens": given.amount,
            "output_tokens": 0,
            "aborted": 0,
        }
    )
    # What was asked for is that of the log; such rows are given nothing.
    asked = log.assign(first_token_at=0.0, finished_at=0.0)[rows.columns]
    return serving.service_difference(pd.concat([rows, asked]))


def test_the_measure_of_the_study_ranks_replayed_rules_as_the_study_ranks_its_runs(replayed):
    by_mean = sorted(SCHEDULERS, key=lambda name: replayed[name][1])
    assert by_mean == ["virtual_tokens", "least_counter", "first_come"]
    assert by_mean == sorted(STUDY, key=lambda name: STUDY[name][1])


def test_first_come_replayed_is_the_log_up_to_who_waits_for_memory(replayed, serving):
    """The server's own order differs a little: requests join a batch where there is memory."""
    logged = serving.service_difference(pd.read_csv(SERVING / "first_come.csv"))
    assert logged == pytest.approx(STUDY["first_come"], abs=0.01)
    assert replayed["first_come"] == pytest.approx(logged, rel=0.1)


def test_no_two_rules_are_the_same_here(replayed):
    for one, other in itertools.combinations(replayed.values(), 2):
        assert one != other
