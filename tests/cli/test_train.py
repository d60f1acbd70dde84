"""Tests of cli.train."""

from __future__ import annotations

import json
import sys

import pytest

from command_line import evenhand
from evenhand import cli
from evenhand._util import registry
from evenhand.cli.train import is_host_class, refuse_unused
from evenhand.envs import ENVIRONMENTS
from evenhand.errors import BadParameter

# `evenhand train` with a scheme file and with an environment of the user's own.

WORLD = """
from dataclasses import dataclass
from typing import Any, NamedTuple
import jax.numpy as jnp
from evenhand.envs import Environment, Outcomes

class Day(NamedTuple):
    time: Any

@dataclass(frozen=True)
class Kiosk(Environment):
    horizon: int = 4
    num_stakeholders: int = 2
    amount: float = 2.5

    @property
    def num_actions(self):
        return 2

    def start(self):
        return Day(jnp.zeros((), jnp.int32))

    def draw(self, key):
        return jnp.zeros((), jnp.int32)

    def noises(self):
        return jnp.zeros(1, jnp.int32), jnp.ones(1)

    def outcomes(self, world, noise, action):
        return Outcomes(jnp.ones(1), Day(world.time[None] + 1))

    def rewards(self, state, action, world):
        return self.amount * (jnp.arange(2) == action)

    def observation(self, state):
        return jnp.zeros(1)

class Broken(Kiosk):
    def rewards(self, state, action, world):
        return jnp.where(world.time > 2, jnp.nan, super().rewards(state, action, world))
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "kiosks.py").write_text(WORLD)
    (tmp_path / "worst.toml").write_text('welfare = "rawls"\ntemporal = "worst"\n')
    (tmp_path / "mean.toml").write_text('welfare = "rawls"\ntemporal = "mean"\n')
    yield tmp_path
    _forget()


def _forget():
    sys.modules.pop("kiosks", None)
    registry._registering.pop("kiosks", None)  # or processes of later tests would look for it
    for name in [name for name in ENVIRONMENTS.classes if name.startswith("kiosks")]:
        ENVIRONMENTS._classes.pop(name)


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["evenhand", *map(str, arguments)])
    code = 0
    try:
        cli.main()
    except SystemExit as stop:
        code = stop.code
    return code or 0, *capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("doughnuts", "--scheme", "worst.toml"), "not reward-like: Worst"),
        (("doughnuts", "--scheme", "none.toml"), "none.toml"),
        (("kiosks:Shop",), "the module kiosks has no class Shop"),
        (("no_kiosks:Kiosk",), "there is no module no_kiosks"),
        (("kiosks:Broken", "--deep"), "gave stakeholder 0 a reward of nan at step 3"),
        (("kiosks:Kiosk", "--presence", "0.5"), "kiosks:Kiosk has no --presence"),
    ],
)
def test_what_cannot_be_learned_is_one_sentence(here, monkeypatch, capsys, arguments, words):
    code, out, err = run(monkeypatch, capsys, "train", *arguments, "--steps", 200)
    assert (code, out) == (2, "")
    assert words in err
    assert err.strip().count("\n") == 0


@pytest.mark.system
def test_a_world_of_ones_own_is_learned_saved_and_scored_again(here, monkeypatch, capsys):
    """Turns are best: with the mean over four steps of the least, (0 + 2.5 + 2.5 + 5) / 4."""
    learn = (
        "train",
        "kiosks:Kiosk",
        "--scheme",
        "mean.toml",
        "--steps",
        2000,
        "--out",
        "kiosk.run",
    )
    code, out, _ = run(monkeypatch, capsys, *learn, "--json")
    assert code == 0
    assert json.loads(out)["final_scores"] == pytest.approx([2.5])
    _forget()  # another process has not imported it
    code, out, _ = run(monkeypatch, capsys, "evaluate", "kiosk.run", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["scores"], found["optimum"]) == (pytest.approx([2.5]), pytest.approx(2.5))


@pytest.mark.system  # takes seconds
def test_a_class_that_is_gone_is_a_sentence(here, monkeypatch, capsys):
    learn = ("train", "kiosks:Kiosk", "--steps", 100, "--out", "kiosk.run")
    assert run(monkeypatch, capsys, *learn)[0] == 0
    _forget()
    (here / "kiosks.py").unlink()
    code, _, err = run(monkeypatch, capsys, "evaluate", "kiosk.run")
    assert code == 2
    assert "there is no module kiosks" in err


# `evenhand train module:Class` where the class is Gymnasium's.

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
