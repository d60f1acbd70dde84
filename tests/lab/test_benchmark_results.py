"""Results files: written and read again, put side by side, and what is refused."""

from __future__ import annotations

import json

import pytest

from evenhand import __version__
from evenhand.errors import BadFile, BadParameter
from evenhand.lab.benchmark_results import (
    BenchmarkResults,
    BenchmarkRun,
    PairFacts,
    merge_results,
    read_results,
)

FACTS = PairFacts({"name": "shop"}, "anytime", "words", 10.0, 2.0)
UNKNOWN = PairFacts({"name": "sea"}, "anytime", "words", None, 1.0, "no known optimum: too large")


def results(method="mine", seeds=(0, 1), steps=100, facts=FACTS):
    runs = [BenchmarkRun("shop/anytime", method, s, {"x": 1}, (4.0, 6.0), None, 1.5) for s in seeds]
    return BenchmarkResults(
        steps, {"shop/anytime": facts}, {method: {"line": "", "learns": True}}, runs
    )


@pytest.fixture
def path(tmp_path):
    where = tmp_path / "results.json"
    results().write(where)
    return where


def changed(path, change):
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    return path


def test_what_is_written_is_read(path):
    assert read_results(path) == results()


def test_the_share_of_the_way():
    assert FACTS.share(6.0) == 0.5
    assert UNKNOWN.share(6.0) is None


def test_results_of_another_version_are_refused(path):
    changed(path, lambda table: table.update(version="0.0.9"))
    with pytest.raises(BadFile, match=rf"evenhand 0\.0\.9, and this is {__version__}"):
        read_results(path)


def test_a_seed_twice_is_refused(path):
    changed(path, lambda table: table["runs"].append(table["runs"][0]))
    with pytest.raises(BadFile, match="seed 0 of mine on shop/anytime twice"):
        read_results(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.update(kind="a shopping list"), "does not hold results"),
        (lambda table: table["runs"][0].update(pair="moon"), "a run of 'moon'"),
        (lambda table: table["runs"][0].update(curve=[]), "without scores"),
        (lambda table: table["runs"][0].update(curve=["a"]), "cannot be read"),
        (lambda table: table["runs"][0].pop("seed"), "seed"),
        (lambda table: table["pairs"]["shop/anytime"].pop("random"), "cannot be read"),
        (lambda table: table.update(steps=0), "steps"),
        (
            lambda table: table["pairs"]["shop/anytime"].update(optimum="10"),
            r"'pairs\.shop/anytime\.optimum' is '10', and must be a finite number",
        ),
        (lambda table: table["pairs"]["shop/anytime"].update(random=None), "a finite number"),
        (lambda table: table["pairs"]["shop/anytime"].update(judged=1), "must be a text"),
        (lambda table: table["pairs"]["shop/anytime"].update(note=1), "must be a text"),
        (lambda table: table["pairs"]["shop/anytime"].update(more=1), r"shop/anytime\.more'"),
        (lambda table: table["methods"].update(mine=["fast"]), r"'methods\.mine' is a list"),
        (lambda table: table["methods"]["mine"].update(line=1), "must be a text"),
        (lambda table: table["methods"]["mine"].update(learns="no"), "true or false"),
        (lambda table: table.update(skipped=[{"pair": "shop/anytime"}]), r"'skipped\.0\.method'"),
    ],
)
def test_a_file_that_is_damaged_is_a_sentence(path, change, words):
    changed(path, change)
    with pytest.raises(BadFile, match=words):
        read_results(path)


def test_a_file_that_is_not_json_is_a_sentence(tmp_path):
    where = tmp_path / "odd.json"
    where.write_text("{")
    with pytest.raises(BadFile, match=r"odd\.json"):
        read_results(where)


def test_files_are_put_side_by_side():
    both = merge_results([("a", results()), ("b", results("theirs"))])
    assert [run.method for run in both.runs] == ["mine", "mine", "theirs", "theirs"]
    assert list(both.methods) == ["mine", "theirs"]


def test_the_same_seed_in_two_files_is_refused():
    with pytest.raises(BadFile, match="b and a both have seed 1 of mine on shop/anytime"):
        merge_results([("a", results()), ("b", results(seeds=(1, 2)))])


def test_other_budgets_and_other_worlds_are_refused():
    with pytest.raises(BadFile, match="200 steps and a of 100"):
        merge_results([("a", results()), ("b", results("theirs", steps=200))])
    other = PairFacts({"name": "shop"}, "anytime", "words", 11.0, 2.0)
    with pytest.raises(BadFile, match="b means something else by shop/anytime"):
        merge_results([("a", results()), ("b", results("theirs", facts=other))])
    with pytest.raises(BadParameter, match="no results"):
        merge_results([])
