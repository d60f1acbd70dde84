"""Plans as files: what comes back, and arrays that belong to no plan."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand import Discounted, LogNash, Total, Window, anytime
from evenhand._util.saved import read_tensors, write_tensors
from evenhand.envs import Doughnuts
from evenhand.errors import BadFile
from evenhand.planning import load_plan, save_plan
from evenhand.planning.plan_file import ARRAYS
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

NASH = anytime(LogNash(), Total())
ENDLESS = anytime(LogNash(), Discounted(0.5), Window(1))


@pytest.fixture(scope="module")
def found():
    return plan(Problem(Doughnuts(2, 3, 0.5), NASH))


@pytest.fixture
def path(tmp_path, found):
    save_plan(found, tmp_path / "plan")
    return tmp_path / "plan"


def rewrite(path, header=None, **changes):
    """The file with some of its arrays, or of what it says, changed."""
    said, arrays = read_tensors(path, "plan", ARRAYS)
    arrays = dict(arrays)
    for name, change in changes.items():
        arrays[name] = np.ascontiguousarray(change(arrays[name]))
    write_tensors(path, "plan", {**said, **(header or {})}, arrays)


def with_cell(place, value):
    def change(array):
        array = array.copy()
        array[place] = value(array)
        return array

    return change


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (Problem(Doughnuts(2, 1, 0.5), NASH), {}),  # one state is expanded
        (Problem(Doughnuts(2, 3, 0.5), ENDLESS), {}),  # all are
        (Problem(Doughnuts(2, 3, 0.5), ENDLESS), {"horizon": math.inf}),
    ],
)
def test_a_plan_comes_back_as_it_was(problem, options, tmp_path):
    found = plan(problem, **options)
    save_plan(found, tmp_path / "plan")
    again = load_plan(tmp_path / "plan")
    assert (again.value, again.error, again.states) == (found.value, found.error, found.states)
    assert again.table.model == found.table.model
    assert again.table.within == found.table.within
    for one, other in zip(again.values, found.values, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_file_that_says_nothing_of_the_step_number_did_not_keep_it(path, found):
    said, arrays = read_tensors(path, "plan", ARRAYS)
    del said["keep_time"]
    write_tensors(path, "plan", said, dict(arrays))
    assert load_plan(path).table.model == found.table.model


def test_a_plan_for_another_horizon_is_refused(path):
    rewrite(path, {"horizon": 4})
    with pytest.raises(BadFile, match="planned for 4 decisions, and its environment has 3"):
        load_plan(path)


FORMS = {
    "rows of float32": ("rows", lambda rows: rows.astype(np.float32)),
    "a column fewer": ("rows", lambda rows: rows[:, 1:]),
    "a step fewer": ("within", lambda within: within[:-1]),
    "two steps fewer": ("within", lambda within: within[:-2]),
    "an effect fewer": ("following", lambda following: following[1:]),
    "wider numbers": ("following", lambda following: following.astype(np.int64)),
    "an outcome more": ("probability", lambda part: np.concatenate((part, part), axis=1)),
    "pay of fewer states": ("pay", lambda pay: pay[:, 1:]),
    "last pay of fewer states": ("last_pay", lambda pay: pay[:, 1:]),
    "values in a table": ("values", lambda values: values[:, None]),
    "an end fewer": ("ends", lambda ends: ends[1:]),
    "two ends fewer": ("ends", lambda ends: ends[2:]),
}


@pytest.mark.parametrize("name", FORMS)
def test_arrays_of_another_form_are_refused(name, path):
    part, change = FORMS[name]
    rewrite(path, **{part: change})
    with pytest.raises(BadFile, match=f"'{part}'|'following'"):
        load_plan(path)


NUMBERS = {
    "no number": {"rows": with_cell((1, 0), lambda rows: np.nan)},
    "nothing at the start": {"within": with_cell(0, lambda within: 0)},
    "fewer states later": {"within": with_cell(-1, lambda within: within[-2] - 1)},
    "more states than there are": {"within": with_cell(-1, lambda within: within[-1] + 1)},
    "before the first state": {"following": with_cell((0, 0, 0), lambda following: -1)},
    "after the last state": {"following": with_cell((0, 0, 0), lambda part: part.max() + 1)},
    "an end too late": {"ends": lambda ends: ends + (np.arange(len(ends)) == len(ends) - 1)},
    "a value too many": {
        "values": lambda values: np.append(values, 0.0),
        "ends": lambda ends: ends + (np.arange(len(ends)) == len(ends) - 1),
    },
    "values at other steps": {"ends": with_cell(0, lambda ends: ends[0] + 1)},
    "all values at other steps": {"ends": lambda ends: np.append(ends[1:] - 1, ends[-1])},
    "no state with anything after it": {
        part: lambda array: array[..., :0] for part in ("following", "probability", "pay")
    }
    | {"last_pay": lambda array: array[..., :0]},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_states_that_no_plan_numbers_so_are_refused(name, path):
    rewrite(path, **NUMBERS[name])
    with pytest.raises(BadFile, match="numbered in a way that no plan"):
        load_plan(path)
