"""Options that ask for more than there can be: refused before anything is made of that size."""

from __future__ import annotations

import inspect
import sys
import time

import pytest

from evenhand import cli
from evenhand.cli.compare import compare_command
from evenhand.cli.learning_options import chosen_seeds, length
from evenhand.cli.plan import plan_command
from evenhand.cli.train import train_command
from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter

SEED = "--seed is 4,294,967,296: it must be at most 4,294,967,295"
DIGITS = "a number of more than 20 digits: it must be at most"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *[
            case
            for verb in ("train", "compare")
            for case in (
                ((verb, "doughnuts", "--seed", 2**32), SEED),
                ((verb, "doughnuts", "--seed", 2**70), f"--seed is {DIGITS}"),
                ((verb, "doughnuts", "--seed", 2**32 - 1, "--seeds", 2), SEED),
                ((verb, "doughnuts", "--seeds", 100_000_000), "--seeds is 100,000,000: it must"),
                ((verb, "doughnuts", "--steps", 10**20), f"--steps is {DIGITS} 10,000,000,000"),
                ((verb, "doughnuts", "--episodes", 10**9), "--episodes is 1,000,000,000: it must"),
                ((verb, "doughnuts", "--episodes", 10**8, "--horizon", 1000), "100,000,000,000 st"),
                ((verb, "doughnuts", "--horizon", 10**23), f"--horizon is {DIGITS} 1,000,000"),
                ((verb, "doughnuts", "--stakeholders", 10**6), "--stakeholders is 1,000,000: it"),
                ((verb, "doughnuts", "--presence", "nan"), "presence holds nan"),
                ((verb, "doughnuts", "--presence", "1e400"), "presence holds inf"),
            )
        ],
        (("plan", "doughnuts", "--horizon", 10**23), f"--horizon is {DIGITS} 1,000,000"),
        (("plan", "doughnuts", "--horizon", 10**6), "the horizon is 1,000,000 decisions"),
        (("plan", "doughnuts", "--stakeholders", 10**6), "--stakeholders is 1,000,000: it must"),
        (("plan", "doughnuts", "--stakeholders", 10**5), "2 to the power of 100,000 combinations"),
        (("plan", "doughnuts", "--discount", "nan"), "discount is nan"),
        (("plan", "doughnuts", "--discount", "1e308"), "discount is 1e+308"),
        (("reproduce", "tabular", "--seeds", 100_000_000), "--seeds is 100,000,000: it must be"),
        (("evaluate", "none.policy", "--seed", 2**32), SEED),
        (("evaluate", "none.policy", "--episodes", 10**20), f"--episodes is {DIGITS}"),
    ],
)
def test_too_much_is_refused_in_one_sentence(monkeypatch, capsys, arguments, words):
    monkeypatch.setattr(sys, "argv", ["evenhand", *map(str, arguments)])
    started = time.perf_counter()
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    sentence = err.lstrip("\n")  # after the line on which a bar was
    assert sentence.startswith("evenhand: ")
    assert sentence.count("\n") == 1
    assert words in sentence
    assert time.perf_counter() - started < 30  # a hang, not a benchmark


def test_the_last_seeds_there_are():
    assert chosen_seeds(2**32 - 2, 2) == (2**32 - 2, 2**32 - 1)


def test_the_longest_runs_there_are():
    assert length(Doughnuts(horizon=100), True, None, 10**8) == 10**10
    with pytest.raises(BadParameter, match="at most 10,000,000,000 are learned"):
        length(Doughnuts(horizon=101), True, None, 10**8)


def test_how_long_a_run_is_where_nothing_is_said():
    shop = Doughnuts(horizon=12)
    assert length(shop, True, None, None) == 30_000
    assert length(shop, False, None, None) == 100_000
    assert length(shop, False, 7, None) == 7


@pytest.mark.parametrize("name", ["stakeholders", "horizon", "presence", "scheme"])
def test_an_option_of_several_verbs_is_explained_in_one_way(name):
    ways = [
        inspect.signature(verb, eval_str=True).parameters[name].annotation
        for verb in (plan_command, compare_command, train_command)
    ]
    assert len({one.__metadata__[0].help for one in ways}) == 1
