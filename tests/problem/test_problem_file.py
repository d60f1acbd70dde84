"""A problem as a file: whatever is registered, and files of earlier versions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save

from evenhand import (
    Clock,
    Doughnuts,
    Full,
    GroupDifference,
    LastWinner,
    Lending,
    Mean,
    Problem,
    Product,
    Window,
    anytime,
)
from evenhand._util import saved
from evenhand.envs import WaitingList
from evenhand.errors import BadFile, SchemeFileError, TooLarge
from evenhand.interop.numpy_policy.deployed_policy import load_policy
from evenhand.learn.policies.policy_files import load_policies
from evenhand.memory.memory import OfStatus
from evenhand.planning import load_plan, save_plan
from evenhand.planning.planner import plan
from evenhand.problem.problem_file import build_problem, describe_problem

SHOP = Doughnuts(2, 3, (0.8, 0.5))
PROBLEMS = [
    Problem(SHOP, SHOP.default_scheme()),
    Problem(SHOP, anytime(temporal=Mean()), Full(), augment_with_score=True),
    Problem(SHOP, SHOP.default_scheme(), Product((Full(), Clock(4)))),
    Problem(SHOP, SHOP.default_scheme(), Product((Product((Clock(2), LastWinner())), Full()))),
    Problem(SHOP, SHOP.default_scheme(), OfStatus(Window(2))),
    Problem(Lending(), Lending().default_scheme(), GroupDifference(Lending().groups)),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.memory.describe())
def test_a_problem_is_built_again_from_what_json_keeps_of_it(problem):
    again = build_problem(json.loads(json.dumps(describe_problem(problem))))
    assert again == problem
    assert hash(again) == hash(problem)  # lists are tuples again: it can be compiled


def test_a_plan_of_a_product_memory_is_saved_and_loaded(tmp_path):
    problem = Problem(SHOP, SHOP.default_scheme(), Product((Full(), Clock(4))))
    found = plan(problem, use_memory=True)
    save_plan(found, tmp_path / "a.plan")
    again = load_plan(tmp_path / "a.plan")
    assert again.problem == problem
    assert again.value == found.value == plan(Problem(SHOP, SHOP.default_scheme())).value


def test_no_more_is_carried_than_there_is_room_for():
    """A step of two stakeholders is 16 bytes, and 2^22 of them are the 64 MB that there are."""

    def header(length):
        return describe_problem(Problem(SHOP, SHOP.default_scheme(), OfStatus(Window(length))))

    fits = build_problem(header(2**22 - 8))
    assert fits.memory == OfStatus(Window(2**22 - 8))
    with pytest.raises(TooLarge, match=r"carry 64 MB from step to step, and may carry 64 MB"):
        build_problem(header(2**22))


def test_what_has_no_name_cannot_be_written():
    class Nameless(Clock):
        """A memory that nobody registered."""

    problem = Problem(SHOP, SHOP.default_scheme(), Product((Full(), Nameless(3))))
    with pytest.raises(SchemeFileError, match=r"Nameless is Python code .*named memory \(full"):
        describe_problem(problem)


def write_as_version_0_1(path, kind, header, arrays):
    """A file as evenhand 0.1 wrote it: the header does not say its format."""
    header = {**header, "kind": kind}
    header["digest"] = saved._digest(header, arrays)
    path.write_bytes(save(arrays, metadata={"evenhand": json.dumps(header)}))


@pytest.mark.parametrize(
    ("kind", "load"),
    [("plan", load_plan), ("policy", load_policies), ("numpy policy", load_policy)],
)
def test_a_file_of_an_earlier_version_is_refused_in_a_sentence(kind, load, tmp_path):
    old = {"version": "0.1.0", "environment": "doughnuts", "scheme": "", "memory": "full"}
    path = tmp_path / "old"
    write_as_version_0_1(path, kind, {**old, "remember_fold": False}, {"rows": np.zeros(2)})
    expected = f"old holds a {kind} of evenhand 0.1, which this version does not read: make the "
    with pytest.raises(BadFile, match=expected):
        load(path)


def test_a_file_of_a_later_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "FORMAT", saved.FORMAT + 1)
    save_plan(plan(PROBLEMS[0]), tmp_path / "later")
    monkeypatch.undo()
    with pytest.raises(BadFile, match="of another version of evenhand"):
        load_plan(tmp_path / "later")


def test_a_scheme_that_is_code_is_known_as_the_environments_own():
    """The waiting list's scheme reads the state by a method: no file could say it otherwise."""
    clinic = WaitingList(arrivals=(0.5, 0.5), urgencies=1.0, capacity=2, horizon=4)
    scheme = clinic.default_scheme()
    problem = Problem(clinic, scheme, Product((OfStatus(scheme.status), Clock(5))))
    header = json.loads(json.dumps(describe_problem(problem)))
    assert (header["scheme"], header["memory"][0]) == ("default", "scheme_status")
    again = build_problem(header)
    assert again.environment == clinic
    assert again.scheme == again.environment.default_scheme()
    assert again.memory.parts[0] == OfStatus(again.scheme.status)
    with pytest.raises(SchemeFileError, match="Python code"):
        describe_problem(Problem(clinic, clinic.urgency_scheme(), Full()))
