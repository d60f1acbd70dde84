"""A compiled function as a list of NumPy operations: run without jax, the same to rounding.

What is recorded is what jax traced, so that a policy that was exported cannot differ in its
encoder or network from the one that was learned: neither is written a second time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
