"""Saved files, whatever was done to them: they load, or one sentence names the file; never more.

A file of each kind is made once, then changed: in its header (with a digest that fits, as somebody
who means harm would), in its arrays, and byte by byte.
"""

from __future__ import annotations

import copy
import json
import os
import resource
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as to_bytes

from evenhand import Doughnuts, Problem
from evenhand._util.saved import FORMAT, read_tensors, write_tensors
from evenhand.errors import BadFile, EvenhandError
from evenhand.interop import export_policy, load_policy
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.runs import load_run, save_run, train
from evenhand.lab.training import is_policy
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import MLP
from evenhand.learn.policy_files import load_policies, save_policies
from evenhand.planning import load_plan, plan, save_plan

SHOP = Doughnuts(2, 3, 0.8)
PROBLEM = Problem(SHOP, SHOP.default_scheme())
MOST_MEMORY = 1 << 29  # bytes more than before, whatever a file says


@dataclass(frozen=True)
class SavedKind:
    """A kind of file: what it is called, how it is loaded, and one of them taken apart."""

    name: str
    load: Any
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    content: bytes

    def write(self, path, header=None, arrays=None):
        write_tensors(
            path,
            self.name,
            self.header if header is None else header,
            self.arrays if arrays is None else arrays,
        )
        return path


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    agent = DQN(problem=PROBLEM, encoder=Relative(), network=MLP((4,)))
    weights = jax.vmap(lambda key: agent.start(key).weights)(jax.random.split(jax.random.key(0), 2))
    save_policies(folder / "policy", agent, weights, {"scores": [1.0, 2.0]})
    greedy = load_policies(folder / "policy").policy()
    export_policy(greedy).save(folder / "numpy policy")
    save_plan(plan(PROBLEM), folder / "plan")
    spec = RunSpec(SHOP, "full", (0, 1), steps=20, every=10)
    learner = spec.build()
    save_run(train(learner, spec), folder / "run")

    def load_and_go_on(path):
        load_run(path)
        return train(learner, spec, path)

    loads = {
        "policy": load_policies,
        "numpy policy": load_policy,
        "plan": load_plan,
        "run": load_and_go_on,
    }
    return {
        name: SavedKind(
            name, load, *read_tensors(folder / name, name), (folder / name).read_bytes()
        )
        for name, load in loads.items()
    }


KINDS = ("policy", "numpy policy", "plan", "run")

# Values that a file should not have there: of another type, or beyond sense.
odd_values = st.sampled_from(
    [
        *(None, True, "x", "", -1, 0, 3, 10**5, 10**12, 10**30, 0.5, 1e308, 1e400, float("nan")),
        *([], {}, [1], ["x"], [[1]], {"name": "clock", "period": 10**12}, {"name": "full"}),
        {"name": "of_status", "status": {"name": "window", "length": 10**12}},
        json.loads("[" * 60 + "]" * 60),
    ]
)


def places(value, path=()):
    """The path to every value of nested JSON."""
    found = [path]
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            found += places(inner, (*path, key))
    return found


def changed_headers(draw, header):
    """A header with one value dropped, replaced, or joined by another."""
    header = copy.deepcopy(header)
    path = draw(st.sampled_from([p for p in places(header) if p]))
    inner = header
    for key in path[:-1]:
        inner = inner[key]
    how = draw(st.sampled_from(["drop", "replace", "add"]))
    if how == "drop":
        del inner[path[-1]]
    elif how == "add" and isinstance(inner, dict):
        inner["odd"] = draw(odd_values)
    else:
        inner[path[-1]] = draw(odd_values)
    return header


ARRAY_CHANGES = (
    lambda a: a[..., :-1] if a.ndim else a[None],
    lambda a: a[None],
    lambda a: a.ravel(),
    lambda a: a.astype(np.float16),
    lambda a: a.astype(np.int8),
    lambda a: np.zeros((0, *a.shape[1:]), a.dtype),
    lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else np.full_like(a, 99),
    lambda a: -a if a.dtype.kind in "fi" else a,
)


def changed_arrays(draw, arrays):
    """Arrays of which one is gone, has another shape or type, or other numbers in it."""
    name = draw(st.sampled_from(sorted(arrays)))
    which = draw(st.integers(0, len(ARRAY_CHANGES)))
    rest = {one: value for one, value in arrays.items() if one != name}
    if which == len(ARRAY_CHANGES):
        return rest
    with np.errstate(all="ignore"):
        return {**rest, name: np.ascontiguousarray(ARRAY_CHANGES[which](arrays[name]))}


def changed_bytes(draw, content):
    """A file cut, or with some bytes flipped, most of them in its header."""
    at = st.one_of(st.integers(0, min(len(content) - 1, 600)), st.integers(0, len(content) - 1))
    if draw(st.booleans()):
        return content[: draw(at)]
    changed = bytearray(content)
    for place in draw(st.lists(at, min_size=1, max_size=3)):
        changed[place] ^= 1 << draw(st.integers(0, 7))
    return bytes(changed)


def loads_or_says_why(kind, path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        kind.load(path)
    except EvenhandError as error:
        sentence = str(error)
        assert str(path) in sentence
        assert "\n" not in sentence
        assert len(sentence) < 1000
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * 1024 < MOST_MEMORY


@pytest.mark.system  # takes seconds
@given(data=st.data())
def test_a_changed_header_loads_or_is_refused(kinds, tmp_path_factory, data):
    kind = kinds[data.draw(st.sampled_from(KINDS))]
    path = tmp_path_factory.getbasetemp() / "header"
    loads_or_says_why(kind, kind.write(path, header=changed_headers(data.draw, kind.header)))


@given(data=st.data())
def test_changed_arrays_load_or_are_refused(kinds, tmp_path_factory, data):
    kind = kinds[data.draw(st.sampled_from(KINDS))]
    path = tmp_path_factory.getbasetemp() / "arrays"
    loads_or_says_why(kind, kind.write(path, arrays=changed_arrays(data.draw, kind.arrays)))


@given(data=st.data())
def test_changed_bytes_load_or_are_refused(kinds, tmp_path_factory, data):
    kind = kinds[data.draw(st.sampled_from(KINDS))]
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(changed_bytes(data.draw, kind.content))
    is_policy(path)
    loads_or_says_why(kind, path)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_no_file_is_refused(kinds, tmp_path, name):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    load = kinds[name].load
    for path, words in (
        (pipe, "not a file but a pipe"),
        ("/dev/zero", "not a file but a device"),
        (tmp_path, "is a folder"),
        (tmp_path / "none", "there is no file"),
    ):
        with pytest.raises(BadFile, match=words):
            load(path)
        with pytest.raises(BadFile, match=words):
            is_policy(path)


@pytest.mark.parametrize("kind", [[], {}, None, 3, "letter"])
def test_a_file_of_no_kind_that_there_is_is_refused(tmp_path, kind):
    path = tmp_path / "file"
    header = {"evenhand": json.dumps({"kind": kind, "format": FORMAT})}
    path.write_bytes(to_bytes({"x": np.zeros(1)}, metadata=header))
    with pytest.raises(BadFile, match="is not a plan that evenhand wrote"):
        read_tensors(path, "plan")


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_another_kind_is_called_what_it_is(kinds, tmp_path, name):
    """It is one that evenhand wrote: it is said which, and what reads it."""
    path = tmp_path / "file"
    for other in set(KINDS) - {name}:
        path.write_bytes(kinds[other].content)
        with pytest.raises(BadFile, match=f"is not a {name} that evenhand wrote, but a {other}: "):
            kinds[name].load(path)


@pytest.mark.parametrize("name", KINDS)
def test_what_holds_nothing_is_refused(kinds, tmp_path, name):
    path, load = tmp_path / "file", kinds[name].load
    for content in (b"", b"\xff" * 100, (1 << 60).to_bytes(8, "little") + b"{}"):
        path.write_bytes(content)
        with pytest.raises(BadFile, match=f"is not a {name} that evenhand wrote, or was cut short"):
            load(path)


DEEP = json.loads("[" * 100 + "]" * 100)
HUGE = {"name": "doughnuts", "num_stakeholders": 2, "horizon": 3, "presence": 0.8}


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("policy", {"environment": [1]}, "environment must be a name, or a table"),
        (
            "policy",
            {"environment": {**HUGE, "horizon": 10**12}},
            "horizon is .* whole number from 1 to",
        ),
        (
            "policy",
            {"environment": {**HUGE, "num_stakeholders": 10**9}},
            "from 1 to 1,000,000",
        ),
        ("policy", {"scheme": 1}, "'scheme' is 1, and must be a text"),
        ("policy", {"augment_with_score": None}, "'augment_with_score' is None, and must be true"),
        ("policy", {"memory": []}, "memory is an empty list"),
        ("policy", {"network": {"name": "layers", "hidden": [10**9]}}, "another shape"),
        ("policy", {"network": DEEP}, "nested deeper than any policy"),
        ("numpy policy", {"operations": [1]}, "'operations.0' is 1, and must be a table"),
        ("numpy policy", {"inputs": {}}, "'inputs' is a table, and must be a list"),
        (
            "numpy policy",
            {"num_stakeholders": 10**12},
            "'num_stakeholders' is .* whole number from",
        ),
        ("numpy policy", {"num_actions": 7}, r"of the shape \(2,\) for 7 actions"),
        ("numpy policy", {"output": 10**6}, "values that do not fit together"),
        ("plan", {"horizon": 10**15}, "planned for 1000000000000000 decisions"),
        ("plan", {"error": float("nan")}, "'error' is nan, and must be a finite number"),
        ("plan", {"use_memory": "yes"}, "'use_memory' is 'yes', and must be true or false"),
        ("run", {"seconds": "1"}, "'seconds' is '1', and must be a finite number"),
        ("run", {"versions": []}, "'versions' is a list, and must be a table"),
        ("run", {"spec": []}, r"a run is \[\]: it must be a table"),
    ],
)
def test_what_is_wrong_in_a_header_is_named(kinds, tmp_path, name, change, sentence):
    kind, path = kinds[name], tmp_path / "file"
    with pytest.raises(BadFile, match=sentence) as caught:
        kind.load(kind.write(path, header={**kind.header, **change}))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seeds": [2**40, 1]}, "a seed is 1099511627776: .* from 0 to 4,294,967,295"),
        ({"seeds": "01"}, "seeds is '01': it must be a list"),
        ({"steps": 10**20}, "steps is a number of 21 digits: it must be a whole number"),
        ({"every": 2**40}, "every is 1099511627776"),
        ({"evaluation": 10**12}, "evaluation is 1000000000000"),
        ({"deep": "no"}, "deep is 'no': it must be True or False"),
        ({"method": 1}, "method is 1: it must be a text"),
        ({"memory": {"name": "clock", "period": "x"}}, "period is 'x': it must be a whole number"),
        ({"settings": [1]}, r"settings is \[1\]: it must be a dict"),
    ],
)
def test_what_is_wrong_in_a_run_is_named(kinds, tmp_path, change, sentence):
    kind = kinds["run"]
    header = {**kind.header, "spec": {**kind.header["spec"], **change}}
    with pytest.raises(BadFile, match=sentence):
        kind.load(kind.write(tmp_path / "file", header=header))


def test_settings_that_no_agent_has_are_named():
    spec = RunSpec(SHOP, "full", (0,), steps=10, every=10, deep=True)
    for settings, sentence in (
        ({"bathc": 3}, "no setting 'bathc' of a DQN: .*batch"),
        ({"batch": "x"}, "the setting 'batch' is 'x': it must be int"),
        ({"batch": True}, "the setting 'batch' is True: it must be int"),
        ({"problem": 1}, "no setting 'problem'"),
    ):
        with pytest.raises(EvenhandError, match=sentence):
            replace(spec, settings=settings).build()


@pytest.mark.parametrize(
    ("name", "array", "change", "sentence"),
    [
        ("run", "measure.score", lambda a: a[:, :1], r"'score' has the shape \(2, 1\)"),
        ("run", "measure.score", lambda a: np.tile(a, (2, 1)), "'kept' has the shape"),
        ("run", "measure.score", lambda a: a * np.nan, "not finite .*score"),
        ("run", "leaf.key", lambda a: a[:, :1], r"leaf.key has another shape, \(2, 1\)"),
        ("run", "leaf.q", lambda a: a.astype(np.int32), "leaf.q is of int32"),
        ("policy", "leaf[0].bias", lambda a: a[:1], "different numbers of seeds"),
        ("policy", "leaf[0].bias", lambda a: a + np.inf, "not finite"),
        ("plan", "following", lambda a: a + 10**6, "numbered in a way that no plan"),
        ("plan", "rows", lambda a: a[:, :1], "the array 'rows' is of float64 in the shape"),
        ("plan", "rows", lambda a: a + np.nan, "numbered in a way that no plan"),
        ("plan", "ends", lambda a: a * 0, "numbered in a way that no plan"),
        ("plan", "within", lambda a: a + 9 * (np.arange(len(a)) == len(a) - 1), "no plan numbers"),
        ("plan", "within", lambda a: a[::-1] + 0, "no plan numbers"),
        ("plan", "values", lambda a: np.append(a, 0.0), "no plan numbers"),
        ("plan", "following", lambda a: a * 0 - 1, "no plan numbers"),
    ],
)
def test_what_is_wrong_in_an_array_is_named(kinds, tmp_path, name, array, change, sentence):
    kind = kinds[name]
    arrays = {**kind.arrays, array: np.ascontiguousarray(change(kind.arrays[array]))}
    with pytest.raises(BadFile, match=sentence):
        kind.load(kind.write(tmp_path / "file", arrays=arrays))


def test_an_array_that_belongs_to_nothing_is_refused(kinds, tmp_path):
    kind = kinds["policy"]
    with pytest.raises(BadFile, match=r"the array 'leaf\.odd' belongs to nothing"):
        kind.load(kind.write(tmp_path / "p", arrays={**kind.arrays, "leaf.odd": np.zeros(1)}))


def test_episodes_are_counted_before_they_are_played(kinds, tmp_path):
    kind = kinds["policy"]
    long = {**kind.header, "environment": {**HUGE, "horizon": 10**8}}
    saved = load_policies(kind.write(tmp_path / "p", header=long))
    with pytest.raises(EvenhandError, match="2,000 episodes of 100000000 decisions would take"):
        saved.evaluate()
