"""`evenhand train module:Class` where the class is Gymnasium's."""

from __future__ import annotations

import json

import pytest

from command_line import evenhand
from evenhand.cli.train_on_host import is_host_class, refuse_unused
from evenhand.errors import BadParameter

COUNTER = "own_environments:Counter"


def test_which_classes_are_gymnasiums():
    assert is_host_class(COUNTER)
    assert not is_host_class("doughnuts")
    assert not is_host_class("evenhand.envs:Doughnuts")


def test_options_without_a_use_are_refused():
    refuse_unused({"--presence": None})
    with pytest.raises(BadParameter, match="--presence is not for Gymnasium environments"):
        refuse_unused({"--memory": None, "--presence": "0.5"})


@pytest.mark.parametrize(
    "option", [("--presence", "0.5"), ("--tabular",), ("--method", "min"), ("--amount", "doses")]
)
def test_the_command_refuses_them_in_a_sentence(option):
    done = evenhand("train", COUNTER, *option)
    assert done.returncode == 2
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert option[0] in done.stderr


@pytest.mark.system
def test_it_is_learned_saved_and_scored_again(tmp_path):
    out, curve = tmp_path / "fair.learner", tmp_path / "curve.csv"
    asked = ("train", COUNTER, "--steps", "200", "--seeds", "2", "--out", str(out))
    first = json.loads(evenhand(*asked, "--track", str(curve), "--json").stdout)
    assert (first["steps"], first["seeds"], len(first["before"])) == (200, [0, 1], 2)
    assert curve.read_text().startswith("step,")
    again = json.loads(evenhand(*asked, "--json").stdout)
    assert (again["scores"], again["before"]) == (first["scores"], None)  # it was finished
    scored = evenhand("evaluate", str(out), "--episodes", "20")
    assert "fairqcm in own_environments:Counter" in " ".join(scored.stdout.split())
    assert evenhand("evaluate", str(out), "--horizon", "9").returncode == 2
