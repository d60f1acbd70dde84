"""`evenhand benchmark`: leaderboards from files, a small run, and what is refused."""

from __future__ import annotations

import json
import re

import pytest

from command_line import evenhand
from evenhand.lab.benchmark_results import BenchmarkResults, BenchmarkRun, PairFacts

SHOP = PairFacts({"name": "shop"}, "long-term", "words of the scheme.", 10.0, 0.0)
SEA = PairFacts({"name": "sea"}, "anytime", "words", None, 0.0, "no known optimum: too large")


def results(method, scores, pair="shop", facts=SHOP, learns=True):
    runs = [BenchmarkRun(pair, method, k, {}, (0.0, s), None, 1.0) for k, s in enumerate(scores)]
    return BenchmarkResults(200, {pair: facts}, {method: {"line": "x", "learns": learns}}, runs)


@pytest.fixture
def files(tmp_path):
    parts = {
        "ours": results("fairqcm", [4.0, 6.0]),
        "peer": results("peer", [9.0, 9.0]),
        "sea": results("fairqcm", [1.0, 2.0], "sea", SEA),
    }
    for name, part in parts.items():
        part.write(tmp_path / f"{name}.json")
    return tmp_path


def paths(folder, *names):
    return [str(folder / f"{name}.json") for name in names]


def test_a_leaderboard_says_first_what_is_lost(files):
    said = evenhand("benchmark", "--leaderboard", *paths(files, "ours", "peer"))
    assert said.stdout.startswith("fairqcm is not ahead of every peer that learns on 1 of 1 pairs:")
    few = "fewer than 6 runs each, too few to tell"
    assert f"shop: peer 90.0%, fairqcm 50.0% ({few})." in said.stdout
    assert "The exact optimum is 10; random play: 0." in said.stdout


def test_a_world_without_a_known_optimum_is_said(files):
    said = evenhand("benchmark", "--leaderboard", *paths(files, "sea"))
    assert "There is no known optimum: too large." in said.stdout


def test_the_page_and_the_results_are_written(files):
    out = files / "out"
    both = paths(files, "ours", "peer")
    said = evenhand("benchmark", "--leaderboard", *both, "--out", str(out), "--json")
    board = json.loads(said.stdout)
    assert board["losses"][0]["peer"] == "peer"
    assert len(json.loads((out / "results.json").read_text())["runs"]) == 4
    page = (out / "page.html").read_text()
    lost = page.index("fairqcm is not ahead of every peer that learns on 1 of 1 pairs:")
    assert lost < page.index("All runs on pairs with a known optimum")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--worlds", "taxy"], "there is no world 'taxy': .*did you mean 'taxi'"),
        (["--worlds", ","], "--worlds names none"),
        (["--schemes", "often"], "there is no scheme 'often'"),
        (["--methods", "fairqc"], "did you mean 'fairqcm'"),
        (["--leaderboard"], "there are no results: name at least one file"),
        (["--leaderboard", "nothing.json"], "nothing.json"),
        (["results.json"], "add --leaderboard"),
        (["--search", "7"], "--search|search"),
        (["--worlds", "mo/nothing-v0"], "there is no world 'mo/nothing-v0'"),
    ],
)
def test_bad_input_is_one_sentence(arguments, words):
    said = evenhand("benchmark", *arguments)
    assert said.returncode == 2
    assert said.stderr.strip().count("\n") == 0
    assert re.search(words, said.stderr), said.stderr
