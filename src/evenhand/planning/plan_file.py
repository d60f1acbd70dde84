"""Plans as files: the problem in words, and the value of every state."""

from __future__ import annotations

import os

import numpy as np

from evenhand import __version__
from evenhand._util.saved import SavedRecord, read_tensors, reading_saved, write_tensors
from evenhand._util.wording import short_repr
from evenhand.envs.own_environment import know_imported
from evenhand.errors import BadFile
from evenhand.planning.carried_state import MemoryForStatus, SchemeAlone
from evenhand.planning.model import Model
from evenhand.planning.planner import Plan
from evenhand.planning.row_index import RowIndex
from evenhand.planning.state_table import StateTable
from evenhand.problem.problem import build_problem, describe_problem

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
        "keep_time": table.model.keep_time,
        "horizon": table.horizon,
        "error": plan.error,
    }
    write_tensors(path, "plan", header, arrays)


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan from a file; one that was changed or cut is refused."""
    header, arrays = read_tensors(path, "plan", ARRAYS)
    record = SavedRecord(header, path)
    with reading_saved(path, "plan"):
        know_imported(header.get("environment"))
        problem = build_problem(header, path)
        horizon = record.value("horizon")
        if horizon not in (None, problem.environment.horizon):
            raise BadFile(
                f"it was planned for {short_repr(horizon)} decisions, and its environment has "
                f"{problem.environment.horizon}."
            )
        carried = MemoryForStatus() if record.flag("use_memory") else SchemeAlone()
        model = Model(
            problem,
            carried,
            record.flag("canonical"),
            keep_time=record.flag("keep_time", default=False),
        )
        _require_forms(model, horizon, arrays)
        values = np.split(arrays["values"], arrays["ends"][:-1])
        return Plan(_table(model, horizon, arrays), values, record.number("error"))


def _require_forms(model: Model, horizon: int | None, arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays of other types, shapes or numbers than belong to each other and to a model."""
    states, steps = len(arrays["rows"]), len(arrays["within"])
    effects, outcomes, expanded = arrays["following"].shape
    forms: dict[str, tuple[type, tuple[int, ...]]] = {
        "rows": (np.float64, (states, model.start.shape[1])),
        "within": (np.int64, (steps if horizon is None else horizon + 1,)),
        "following": (np.int32, (model.num_effects, outcomes, expanded)),
        "probability": (np.float64, (effects, outcomes, expanded)),
        "pay": (np.float64, (effects, expanded)),
        "last_pay": (np.float64, (effects, expanded)),
        "values": (np.float64, (len(arrays["values"]),)),
        "ends": (np.int64, (1 if horizon is None else horizon + 1,)),
    }
    for name, (dtype, shape) in forms.items():
        if arrays[name].dtype != dtype or arrays[name].shape != shape:
            raise BadFile(
                f"the array {name!r} is of {arrays[name].dtype} in the shape "
                f"{arrays[name].shape}, where {np.dtype(dtype)} in the shape {shape} belongs."
            )
    within, ends, following = arrays["within"], arrays["ends"], arrays["following"]
    counts = np.diff(ends, prepend=0)
    first = within[:-1] if horizon is not None else within[:0]
    fits = (
        0 < expanded <= states
        and not np.isnan(arrays["rows"]).any()
        and (np.diff(within, prepend=1) >= 0).all()
        and (within <= states).all()
        and following.min(initial=0) >= 0
        and following.max(initial=0) < states
        and ends[-1] == len(arrays["values"])
        and counts[-1] == states
        and (counts[:-1] == first).all()
    )
    if not fits:
        raise BadFile("its states are numbered in a way that no plan numbers them.")


def _table(model: Model, horizon: int | None, arrays: dict[str, np.ndarray]) -> StateTable:
    index = RowIndex(arrays["rows"].shape[1])
    with np.errstate(invalid="ignore"):  # numbers too large to be told apart
        index.number_in_order(arrays["rows"])
    return StateTable(
        model,
        horizon,
        arrays["rows"],
        arrays["within"].tolist(),
        arrays["following"],
        arrays["probability"],
        arrays["pay"],
        arrays["last_pay"],
        index,
    )
