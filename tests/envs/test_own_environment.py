"""`module:Class`: what is not there or breaks the interface is a sentence; what fits is known."""

import re
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from evenhand.envs import ENVIRONMENTS, Doughnuts, Environment, Outcomes
from evenhand.envs.own_environment import (
    know_imported,
    load_environment,
    load_named,
    require_environment,
)
from evenhand.errors import BadFile, BadParameter
from evenhand.planning.planner import load_plan, plan, save_plan
from evenhand.problem.problem import Problem

SOURCE = """
import jax.numpy as jnp

from evenhand.envs import Environment
from tests.envs.test_own_environment import Counter as Base

class Mine(Base):
    def noises(self):
        return jnp.zeros((1, 0)), jnp.ones(1)

class Unfinished(Environment):
    num_actions = num_stakeholders = horizon = 2
    draw = observation = outcomes = None

class Other:
    pass

number = 3
"""


class World(NamedTuple):
    time: Any


@dataclass(frozen=True)
class Counter(Environment):
    """Two stakeholders, one unit a step."""

    horizon: int = 4
    num_stakeholders: int = 2

    @property
    def num_actions(self):
        return 2

    def start(self):
        return World(jnp.zeros((), jnp.int32))

    def draw(self, key):
        return jnp.zeros(0)

    def outcomes(self, world, noise, action):
        return Outcomes(jnp.ones(1), World(world.time[None] + 1))

    def rewards(self, state, action, world):
        return (jnp.arange(2) == action).astype(float)

    def observation(self, state):
        return jnp.zeros(1)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the current folder, which is not on the path."""
    (tmp_path / "worlds_of_mine.py").write_text(SOURCE)
    (tmp_path / "broken_world.py").write_text("1 / 0")
    (tmp_path / "lacks_a_part.py").write_text("import no_such_module_at_all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("worlds_of_mine:Missing", "the module worlds_of_mine has no class Missing"),
        ("worlds_of_mine:number", "has number, not a class"),
        ("worlds_of_mine:Other", "is not an evenhand.envs.Environment"),
        ("worlds_of_mine:Unfinished", "lacks rewards, start"),
        ("no_such_world:World", "there is no module no_such_world"),
        ("broken_world:World", "broken_world cannot be imported: ZeroDivisionError"),
        ("lacks_a_part:World", "lacks_a_part cannot be imported: No module named"),
        ("worlds of mine:World", "does not name a class"),
        ("worlds_of_mine:", "does not name a class"),
    ],
)
def test_what_cannot_be_found_or_used_is_a_sentence(module, name, said):
    with pytest.raises(BadParameter, match=re.escape(said)):
        load_environment(name)


def test_a_class_in_the_current_folder_is_found_and_known_by_its_place(module):
    kind = load_environment("worlds_of_mine:Mine")
    assert ENVIRONMENTS.get("worlds_of_mine:Mine") is kind
    assert ENVIRONMENTS.name_of(kind()) == "worlds_of_mine:Mine"
    load_named({"name": "worlds_of_mine:Mine", "horizon": 3})
    load_named("doughnuts")
    require_environment(kind())


def test_a_file_finds_an_own_environment_only_once_its_module_is_imported(module, tmp_path):
    """As a plan has it that `evenhand plan module:Class --save` wrote, in another process."""
    name = "worlds_of_mine:Mine"
    kind = load_environment(name)
    save_plan(plan(Problem(kind(), kind().default_scheme())), "mine.plan")
    before = load_plan("mine.plan").value
    del ENVIRONMENTS._classes[name]
    assert load_plan("mine.plan").value == before  # the module is imported
    del ENVIRONMENTS._classes[name]
    del sys.modules["worlds_of_mine"]
    with pytest.raises(BadFile, match=r"needs the environment worlds_of_mine:Mine, .* import the"):
        load_plan("mine.plan")
    assert "worlds_of_mine" not in sys.modules
    know_imported({"name": "evenhand.envs.doughnuts:Doughnuts"})
    assert ENVIRONMENTS.name_of(Doughnuts(2, 3)) == "doughnuts"
    with pytest.raises(BadParameter, match=r"is not an evenhand\.envs\.Environment"):
        know_imported("subprocess:Popen")  # a class, and imported, but none to be made by a file


BROKEN = {
    "num_actions": (property(lambda self: 0), "num_actions is 0"),
    "num_stakeholders": (property(lambda self: 2.0), "num_stakeholders is 2.0"),
    "__hash__": (None, "cannot be hashed"),
    "start": (lambda self: (jnp.zeros(()),), "start gives a world without `time`"),
    "draw": (lambda self, key: key.nothing, "start and draw fails: AttributeError"),
    "outcomes": (
        lambda self, world, noise, action: Outcomes(jnp.ones(1), World(jnp.ones(1))),
        "outcomes gives numbers of shape () and type float32 in the world where start has numbers "
        "of shape () and type int32",
    ),
    "rewards": (
        lambda self, state, action, world: jnp.zeros(3),
        "rewards gives numbers of shape (3,)",
    ),
    "observation": (lambda self, state: 0.5 * state.world.time, "it must be a vector"),
    "override": (
        lambda *_: (jnp.zeros(2, bool), jnp.zeros(())),
        "override gives numbers of shape (2,)",
    ),
    "exchangeable": (lambda self: (0,), "gives 1 labels for 2 stakeholders"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_every_broken_method_is_a_sentence(what):
    method, said = BROKEN[what]
    kind = type("Broken", (Counter,), {what: method})
    with pytest.raises(BadParameter, match=re.escape(said)):
        require_environment(object.__new__(kind) if what == "num_stakeholders" else kind())


def test_another_form_of_world_is_refused():
    class Longer(Counter):
        def outcomes(self, world, noise, action):
            return Outcomes(jnp.ones(1), (world.time[None], world.time[None]))

    with pytest.raises(BadParameter, match="another form than start"):
        require_environment(Longer())
    assert jax.eval_shape(Counter().start).time.shape == ()
