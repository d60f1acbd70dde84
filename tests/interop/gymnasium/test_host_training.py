"""A Gymnasium class by its place: learned, stopped, gone on with, and scored by its file alone."""

from __future__ import annotations

import numpy as np
import pytest

import own_environments as own
from evenhand._util.saved import write_tensors
from evenhand.errors import BadFile, BadParameter
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls
from evenhand.interop import gymnasium_learner, save_learner
from evenhand.interop.gymnasium.host_training import (
    HostTraining,
    make_environment,
    require_gymnasium,
    saved_training,
)
from evenhand.interop.gymnasium.learner_files import KIND

COUNTER = HostTraining("own_environments:Counter", None, steps=300, seeds=(3, 4))


class Stopped(Exception):
    pass


def stop(done: int, score: float) -> None:
    if done >= 150:
        raise Stopped


@pytest.mark.system
def test_stopped_it_goes_on_to_the_same_numbers_and_its_file_says_what_it_is(tmp_path):
    whole, parts = tmp_path / "whole.learner", tmp_path / "parts.learner"
    loop = COUNTER.learner(whole)
    COUNTER.train(loop, whole)
    with pytest.raises(Stopped):
        COUNTER.train(COUNTER.learner(parts), parts, show=stop)
    COUNTER.train(COUNTER.learner(parts), parts)
    assert whole.read_bytes() == parts.read_bytes()
    saved = saved_training(parts)
    assert (saved.name, saved.steps, saved.seeds) == (COUNTER.name, 300, (3, 4))
    assert saved.judged_by == own.NASH
    again = saved.learner(parts)
    assert again.steps == 300
    np.testing.assert_array_equal(saved.scores(again, 5, 9), COUNTER.scores(loop, 5, 9))
    longer = HostTraining(COUNTER.name, None, steps=400, seeds=(3, 4))
    with pytest.raises(BadFile, match="another environment, scheme, number of steps"):
        longer.learner(parts)


def test_the_scheme_is_the_one_given_or_the_environments_own_or_log_nash():
    rawls = anytime(Rawls(), Total())
    assert HostTraining(COUNTER.name, rawls, 10).judged_by == rawls
    assert COUNTER.judged_by == own.NASH
    assert HostTraining(f"{__name__}:Fair", None, 10).judged_by == rawls


class Fair(own.Counter):
    def default_scheme(self):
        return anytime(Rawls(), Total())


class Demanding(own.Counter):
    def __init__(self, needed):
        super().__init__()


def test_what_cannot_be_made_is_a_sentence():
    with pytest.raises(BadParameter, match="cannot be built without arguments"):
        make_environment(f"{__name__}:Demanding")
    with pytest.raises(BadParameter, match="is not a Gymnasium environment"):
        require_gymnasium(f"{__name__}:Stopped")


@pytest.mark.system
def test_a_learner_that_was_saved_from_python_does_not_say_what_it_is_of(tmp_path):
    save_learner(tmp_path / "own.learner", gymnasium_learner(own.Counter(), own.NASH, steps=100))
    with pytest.raises(BadFile, match="does not say which environment"):
        saved_training(tmp_path / "own.learner")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"steps": "many"}, "'steps' is 'many', and must be a whole number"),
        ({"seeds": ["x"]}, "cannot be read as a learner"),
        ({"scheme": "welfare = 1"}, "cannot be read as a learner"),
    ],
)
def test_what_a_file_says_of_itself_is_looked_at(tmp_path, changed, words):
    path = tmp_path / "own.learner"
    about = {"environment": "own:Counter", "scheme": "", "steps": 100, "seeds": [0], **changed}
    write_tensors(path, KIND, {"about": about}, {})
    with pytest.raises(BadFile, match=words):
        saved_training(path)
