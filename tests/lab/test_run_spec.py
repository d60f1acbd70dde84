"""A run in one object: what cannot be run is refused, and what is written is read."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand._util.saved import write_tensors
from evenhand.envs import Doughnuts, GaussianLending, Lending
from evenhand.errors import BadFile, BadParameter
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.runs import load_run
from evenhand.learn.imagined_memories import Above, Everything
from evenhand.memory.memory import Clock, Full, Product

SPEC = RunSpec(Doughnuts(2, 4), "fairqcm", (0, 1), steps=100, every=10)


@pytest.mark.parametrize(
    "spec",
    [
        SPEC,
        RunSpec(Doughnuts(2, 4, (0.9, 0.5)), "full", (3,), 100, 10, recipe="best", version="0.0"),
        replace(SPEC, memory=Product((Full(), Clock(5))), proposal=Everything()),
        replace(SPEC, proposal=Above(3)),
        RunSpec(Lending(horizon=7), "min", (0,), 70, 7, deep=True, settings={"batch": 16}),
        RunSpec(GaussianLending(), "rnn", (0,), 40, 40, deep=True, evaluation=1),
    ],
)
def test_what_is_written_as_json_is_read_as_it_was(spec):
    again = RunSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec
    assert hash(again) == hash(spec)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"steps": 10.0}, "steps is 10.0"),
        ({"every": -1}, "every is -1"),
        ({"steps": 15}, "a multiple of it"),
        ({"seeds": ()}, "at least one seed"),
        ({"seeds": (1, 1)}, "none of them twice"),
        ({"seeds": (-1,)}, "a seed is -1"),
        ({"evaluation": 0}, "evaluation is 0"),
        ({"settings": {"batch": 3}}, "set deep=True"),
        ({"settings": {"target": Above(2)}, "deep": True}, "'target' is Above"),
    ],
)
def test_what_cannot_be_run_is_refused(change, words):
    with pytest.raises(BadParameter, match=words):
        replace(SPEC, **change)


def test_a_baseline_has_the_memory_of_its_name_and_imagines_nothing():
    fair = replace(SPEC, memory=Full(), proposal=Above(1))
    assert fair.for_method("fairqcm") == fair
    assert fair.for_method("min") == replace(SPEC, method="min")
    assert fair.describe() == "fairqcm, paper recipe, memory full, proposal above"
    clocked = replace(SPEC, memory=Product((Full(), Clock(5))))
    assert clocked.describe() == "fairqcm, paper recipe, memory full and clock"


def test_a_run_of_an_earlier_version_is_refused_in_a_sentence(tmp_path):
    config = {"method": "full", "recipe": "paper", "seeds": [0], "steps": 10, "every": 10}
    times = {"seconds": 0.0, "compile_seconds": 0.0, "versions": {"evenhand": "0.1.0"}}
    arrays = {"measure.score": np.zeros((1, 1))}
    old = tmp_path / "old.run"
    write_tensors(old, "run", {"config": config, **times}, arrays)
    with pytest.raises(BadFile, match=r"old\.run was written by evenhand 0\.1\.0, .*: remove it"):
        load_run(old)
    odd = {**SPEC.to_json(), "shape": 1}
    del odd["recipe"]
    write_tensors(old, "run", {"spec": odd, **times}, arrays)
    with pytest.raises(BadFile, match=r"old\.run cannot be read as a run: .*: see recipe, shape"):
        load_run(old)
    write_tensors(old, "run", times, arrays)
    with pytest.raises(BadFile, match="does not say how it was trained"):
        load_run(old)
