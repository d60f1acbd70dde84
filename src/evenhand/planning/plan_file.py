"""Plans as files: the problem in words, and the value of every state."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from evenhand import __version__
from evenhand._util.tensor_files import read_tensors, write_tensors
from evenhand.errors import BadFile, EvenhandError
from evenhand.planning.carried import MemoryForStatus, SchemeAlone
from evenhand.planning.model import Model
from evenhand.planning.planner import Plan
from evenhand.planning.row_index import RowIndex
from evenhand.planning.state_table import StateTable
from evenhand.problem.problem import Problem
from evenhand.problem.problem_file import build_problem, describe_problem

ARRAYS = ("rows", "within", "following", "probability", "pay", "last_pay", "values", "ends")


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan to a file: its problem in words, and every value."""
    table = plan.table
    arrays = {
        "rows": table.rows,
        "within": np.array(table.within),
        "following": table.following,
        "probability": table.probability,
        "pay": table.pay,
        "last_pay": table.last_pay,
        "values": np.concatenate(plan.values),
        "ends": np.cumsum([len(values) for values in plan.values]),
    }
    header = {
        "version": __version__,
        **describe_problem(plan.problem),
        "use_memory": table.model.carried.sees_memory,
        "canonical": table.model.canonical,
        "horizon": table.horizon,
        "error": plan.error,
    }
    write_tensors(path, "plan", header, arrays)


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan from a file; one that was changed or cut is refused."""
    header, arrays = read_tensors(path, "plan", ARRAYS)
    try:
        table = _table(build_problem(header), header, arrays)
        return Plan(table, _values(arrays), header["error"])
    except KeyError as error:
        raise BadFile(f"the header of {path} lacks {error}: plan the problem again.") from None
    except EvenhandError as error:
        raise BadFile(f"{path} cannot be read as a plan: {error}") from None


def _table(problem: Problem, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> StateTable:
    carried = MemoryForStatus() if header["use_memory"] else SchemeAlone()
    model = Model(problem, carried, header["canonical"])
    index = RowIndex(arrays["rows"].shape[1])
    index.number_in_order(arrays["rows"])
    return StateTable(
        model,
        header["horizon"],
        arrays["rows"],
        arrays["within"].tolist(),
        arrays["following"],
        arrays["probability"],
        arrays["pay"],
        arrays["last_pay"],
        index,
    )


def _values(arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    return np.split(arrays["values"], arrays["ends"][:-1])
