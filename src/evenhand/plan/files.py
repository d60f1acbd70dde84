"""Plans as files: arrays and a header, in a format that cannot run code when it is loaded."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from evenhand import __version__
from evenhand.envs.names import ENVIRONMENTS
from evenhand.errors import BadFile
from evenhand.files import write_whole
from evenhand.memory import MEMORIES
from evenhand.plan.model import Model
from evenhand.plan.plan import Plan
from evenhand.plan.table import Index, Table
from evenhand.problem import Problem
from evenhand.scheme_file import from_table, from_toml, to_table, to_toml

ARRAYS = ("rows", "within", "following", "probability", "pay", "last_pay", "values", "ends")


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan to a file: its problem in words, and every value."""
    table, problem = plan.table, plan.problem
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
        "kind": "evenhand plan",
        "version": __version__,
        "environment": to_table(problem.environment, ENVIRONMENTS),
        "scheme": to_toml(problem.scheme),
        "memory": to_table(problem.memory, MEMORIES),
        "remember_fold": problem.remember_fold,
        "use_memory": table.model.use_memory,
        "canonical": table.model.canonical,
        "horizon": table.horizon,
        "error": plan.error,
        "digest": _digest(arrays),
    }
    write_whole(path, to_bytes(arrays, metadata={"evenhand": json.dumps(header)}))


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan from a file; one that was changed or cut is refused."""
    try:
        with safe_open(Path(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("evenhand", "{}"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise BadFile(f"there is no file {path}.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise BadFile(f"{path} is not a plan, or was cut short: {error}.") from None
    if header.get("kind") != "evenhand plan" or set(arrays) != set(ARRAYS):
        raise BadFile(f"{path} is not a plan that evenhand wrote.")
    if header["digest"] != _digest(arrays):
        raise BadFile(f"{path} was changed after it was written: make the plan anew.")
    problem = Problem(
        from_table(header["environment"], ENVIRONMENTS, "environment"),
        from_toml(header["scheme"]),
        from_table(header["memory"], MEMORIES, "memory"),
        header["remember_fold"],
    )
    return Plan(_table(problem, header, arrays), _values(arrays), header["error"])


def _table(problem: Problem, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Table:
    model = Model(problem, header["use_memory"], header["canonical"])
    index = Index(arrays["rows"].shape[1])
    index.number_in_order(arrays["rows"])
    return Table(
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


def _digest(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
