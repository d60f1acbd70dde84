"""A learned policy that needs NumPy alone."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand._util.saved import (
    SavedRecord,
    read_tensors,
    reading_saved,
    require_finite,
    write_tensors,
)
from evenhand.errors import BadFile, BadParameter, UnequalLengths
from evenhand.fairness.trace import Step
from evenhand.memory.memory import Memory, memory_from_table, memory_to_table

if TYPE_CHECKING:
    from jaxtyping import Float


# A compiled function as a list of NumPy operations: run without jax, the same to rounding.
#
# What is recorded is what jax traced, so that a policy that was exported cannot differ in its
# encoder or network from the one that was learned: neither is written a second time.

Numbers = np.ndarray


@dataclass(frozen=True, eq=False)
class NumpyProgram:
    """Operations on numbered slots: first the inputs, then constants, then what is worked out."""

    inputs: tuple[str, ...]  # names; those that nothing depends on were left out
    constants: tuple[Numbers, ...]
    operations: tuple[dict[str, Any], ...]  # each {"do", "from", "to", and its settings}
    output: int
    forms: dict[str, Any]  # of each input its type and shape

    def run(self, values: dict[str, Any], most: int | None = None) -> Numbers:
        """The output for these inputs; with `most`, nothing of more numbers than that is made."""
        slots: dict[int, Any] = {i: values[name] for i, name in enumerate(self.inputs)}
        first = len(self.inputs)
        slots |= {first + i: constant for i, constant in enumerate(self.constants)}
        for one in self.operations:
            given = [slots[i] for i in one["from"]]
            if most is not None and _size_after(one, given) > most:
                raise MemoryError
            found = OPERATIONS[one["do"]](one, *given)
            several = found if one["do"] == "split" else [found]
            slots |= dict(zip(one["to"], several, strict=True))
        return np.asarray(slots[self.output])

    def rehearse(self, most: int) -> Numbers:
        """The output for inputs of zeros: whatever these types and shapes lead to is found."""
        for dtype, shape in self.forms.values():
            if not isinstance(dtype, str) or math.prod(shape) > most:
                raise MemoryError
        zeros = {name: np.zeros(shape, dtype) for name, (dtype, shape) in self.forms.items()}
        with np.errstate(all="ignore"):
            return self.run(zeros, most)


def _size_after(one: dict[str, Any], given: list[Any]) -> int:
    """How many numbers an operation makes of these, at most."""
    shapes = [np.shape(x) for x in given]
    if one["do"] == "broadcast_in_dim":
        return math.prod(one["shape"])
    if one["do"] in ("concatenate", "stack"):
        return sum(map(math.prod, shapes))
    if one["do"] == "dot_general":
        contracted = math.prod(shapes[0][axis] for axis in one["axes"][0])
        return math.prod(shapes[0]) * math.prod(shapes[1]) // max(1, contracted) ** 2
    if one["do"] == "gather":
        return math.prod(shapes[1])
    return math.prod(np.broadcast_shapes(*shapes))


def _broadcast(one: dict[str, Any], x: Numbers) -> Numbers:
    shape = [1] * len(one["shape"])
    for axis, size in zip(one["broadcast_dimensions"], np.shape(x), strict=True):
        shape[axis] = size
    return np.broadcast_to(np.reshape(x, shape), one["shape"])


def _logistic(one: dict[str, Any], x: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-x))


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda one, *values: function(*values)


# Each operation as jax names it, with the settings that jax gives it.
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _plain(function)
        for name, function in {
            "abs": np.abs,
            "add": np.add,
            "and": np.bitwise_and,
            "div": np.true_divide,
            "eq": np.equal,
            "exp": np.exp,
            "ge": np.greater_equal,
            "gt": np.greater,
            "is_finite": np.isfinite,
            "le": np.less_equal,
            "log": np.log,
            "log1p": np.log1p,
            "lt": np.less,
            "max": np.maximum,
            "min": np.minimum,
            "mul": np.multiply,
            "ne": np.not_equal,
            "neg": np.negative,
            "not": np.bitwise_not,
            "or": np.bitwise_or,
            "rem": np.fmod,
            "shift_right_arithmetic": np.right_shift,
            "sign": np.sign,
            "sqrt": np.sqrt,
            "sub": np.subtract,
            "tanh": np.tanh,
        }.items()
    },
    "logistic": _logistic,
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda one, *parts: np.concatenate(parts, axis=one["dimension"]),
    "convert_element_type": lambda one, x: np.asarray(x).astype(one["new_dtype"]),
    "dot_general": lambda one, a, b: np.tensordot(a, b, axes=one["axes"]),
    "gather": lambda one, x, index: x[index[..., 0]],
    "integer_pow": lambda one, x: x ** one["y"],
    "reduce_max": lambda one, x: np.max(x, axis=tuple(one["axes"])),
    "reduce_min": lambda one, x: np.min(x, axis=tuple(one["axes"])),
    "reduce_or": lambda one, x: np.any(x, axis=tuple(one["axes"])),
    "reduce_sum": lambda one, x: np.sum(x, axis=tuple(one["axes"])),
    "reshape": lambda one, x: np.reshape(x, one["new_sizes"]),
    "select_n": lambda one, which, no, yes: np.where(which, yes, no),
    "slice": lambda one, x: x[tuple(slice(*ends) for ends in one["ends"])],
    "split": lambda one, x: np.split(x, np.cumsum(one["sizes"])[:-1], axis=one["axis"]),
    "squeeze": lambda one, x: np.squeeze(x, axis=tuple(one["dimensions"])),
    "stack": lambda one, *parts: np.stack(parts, axis=one["axis"]),
    "transpose": lambda one, x: np.transpose(x, one["permutation"]),
}


# Section 5: a learned policy to put to work: NumPy alone, a file that runs no code, and reasons.
#
# policy = load_policy("fair.npolicy")
# memory = policy.start()
# action = policy([1, 0, 1], memory)  # who is present, and what is remembered
# memory = policy.remember(memory, rewards=[1, 0, 0])

KIND = "numpy policy"
MOST_NUMBERS = 1 << 24  # in anything that a policy works out


class PolicyReasons(NamedTuple):
    """Why an action was chosen: the value of each, and what was remembered."""

    action: int
    values: Float[np.ndarray, " action"]
    memory: Any
    remembers: str

    def __str__(self) -> str:
        each = ", ".join(f"{i}: {value:.3f}" for i, value in enumerate(self.values))
        return (
            f"Action {self.action} has the highest value ({each}). "
            f"It remembers {self.remembers}: {_listed(self.memory)}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class NumpyPolicy:
    """The action of highest value in a state and a memory. No jax is needed to ask it."""

    program: NumpyProgram
    memory: Memory
    num_stakeholders: int
    num_actions: int

    def __repr__(self) -> str:
        """Without the arrays, which would fill pages of a notebook."""
        return (
            f"<NumpyPolicy of {self.num_actions} actions for {self.num_stakeholders} stakeholders, "
            f"which remembers {self.memory.describe()}>"
        )

    def start(self) -> Any:
        """What is remembered before the first decision."""
        return self.memory.init(self.num_stakeholders)

    def __call__(self, state: Any, memory: Any) -> int:
        """The action."""
        return int(np.argmax(self.values(state, memory)))

    def values(self, state: Any, memory: Any) -> Float[np.ndarray, " action"]:
        """The value of each action.

        `state` is a mapping of the parts that the policy looks at (`needs`), or that part itself
        where there is one.
        """
        given = {**self._named("state", state), **self._named("memory", memory)}
        return self.program.run(given)

    def reasons(self, state: Any, memory: Any) -> PolicyReasons:
        """The action and why."""
        values = self.values(state, memory)
        return PolicyReasons(int(np.argmax(values)), values, memory, self.memory.describe())

    def remember(self, memory: Any, rewards: Any, action: Any = None, state: Any = None) -> Any:
        """μ: what is remembered after a step in which each stakeholder received so much."""
        received = np.asarray(rewards, dtype=np.float64)
        if received.shape != (self.num_stakeholders,):
            raise UnequalLengths(
                f"rewards of shape {received.shape} for {self.num_stakeholders} stakeholders: one "
                "number each is needed."
            )
        return self.memory.update(memory, Step(action, received, state))

    @property
    def needs(self) -> tuple[str, ...]:
        """The parts of the state that the policy looks at."""
        parts = (name for name in self.program.inputs if name.split(".")[0] == "state")
        return tuple(name.removeprefix("state").removeprefix(".") for name in parts)

    def _named(self, what: str, value: Any) -> dict[str, np.ndarray]:
        names = [name for name in self.program.inputs if name.split(".")[0] == what]
        if isinstance(value, Mapping) and names == [what]:
            parts = ", ".join(map(repr, value))
            raise BadParameter(
                f"the {what} is a mapping of {parts}, and this policy looks at one vector: give "
                "the numbers in one, as gymnasium.spaces.flatten(env.observation_space, "
                "observation) makes it."
            )
        if isinstance(value, Mapping):
            missing = [n for n in names if n.removeprefix(f"{what}.") not in value]
            if missing:
                raise BadParameter(f"the {what} lacks {', '.join(missing)}: give it all it needs.")
            leaves = [value[name.removeprefix(f"{what}.")] for name in names]
        elif (isinstance(value, tuple) and what == "memory") or hasattr(value, "_fields"):
            leaves = [_at(value, name.split(".")[1:]) for name in names]
        elif len(names) <= 1:
            leaves = [value] * len(names)
        else:
            raise BadParameter(
                f"the {what} has {len(names)} parts: give a mapping of {', '.join(names)}."
            )
        pairs = zip(names, leaves, strict=True)
        return {name: self._checked(name, leaf) for name, leaf in pairs}

    def _checked(self, name: str, leaf: Any) -> np.ndarray:
        kind, shape = self.program.forms[name]
        array = np.asarray(leaf).astype(kind)
        if array.shape != tuple(shape):
            raise UnequalLengths(
                f"{name} has shape {array.shape} where the policy was learned with {tuple(shape)}."
            )
        return array

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole: arrays, and a header that says what to do with them."""
        header = {
            "inputs": list(self.program.inputs),
            "forms": self.program.forms,
            "operations": list(self.program.operations),
            "output": self.program.output,
            "memory": memory_to_table(self.memory),
            "num_stakeholders": self.num_stakeholders,
            "num_actions": self.num_actions,
        }
        constants = {f"{i:06}": np.array(c) for i, c in enumerate(self.program.constants)}
        write_tensors(path, KIND, header, constants)


def load_policy(path: str | os.PathLike[str]) -> NumpyPolicy:
    """Read a policy; neither jax nor Gymnasium is loaded, and no code of the file is run.

    Args:
        path: A file that `NumpyPolicy.save` wrote. One that was changed, cut, or is of another
            kind is refused.
    """
    header, arrays = read_tensors(path, KIND)
    require_finite(path, arrays)
    record = SavedRecord(header, path)
    operations = record.tables("operations")
    unknown = {one.text("do") for one in operations} - set(OPERATIONS)
    if unknown:
        raise BadFile(
            f"{path} uses operations that this version does not know ({', '.join(sorted(unknown))})"
            ": install a newer evenhand."
        )
    with reading_saved(path, "policy"):
        program = NumpyProgram(
            tuple(record.texts("inputs")),
            tuple(arrays[name] for name in sorted(arrays)),
            tuple(dict(one.values) for one in operations),
            record.whole("output"),
            {name: tuple(form) for name, form in record.table("forms").values.items()},
        )
        policy = NumpyPolicy(
            program,
            memory_from_table(record.value("memory")),
            record.whole("num_stakeholders", least=1, most=MOST_NUMBERS),
            record.whole("num_actions", least=1, most=MOST_NUMBERS),
        )
        _require_values(policy)
    return policy


def _require_values(policy: NumpyPolicy) -> None:
    """Refuse a policy that has no value for each action, by trying it on zeros."""
    program = policy.program
    if set(program.inputs) != set(program.forms):
        raise BadFile("its inputs are not those of which it says the type and shape.")
    values = program.rehearse(MOST_NUMBERS)
    if values.shape != (policy.num_actions,) or values.dtype.kind != "f":
        raise BadFile(
            f"it makes values of the shape {values.shape} for {policy.num_actions} actions."
        )
    carried = sum(np.asarray(part).size for part in _parts(policy.start()))
    if carried > MOST_NUMBERS:
        raise BadFile(f"its memory has {carried:,} numbers, more than any policy looks at.")


def _parts(memory: Any) -> list[Any]:
    if isinstance(memory, tuple):
        return [leaf for part in memory for leaf in _parts(part)]
    return [memory]


def _at(value: Any, path: list[str]) -> Any:
    for step in path:
        value = value[int(step)] if step.isdigit() else getattr(value, step)
    return value


def _listed(memory: Any) -> Any:
    if isinstance(memory, tuple):
        return [_listed(part) for part in memory]
    return np.asarray(memory).tolist()
