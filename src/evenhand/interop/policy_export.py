"""Policies out: what a network learned as NumPy operations, checked against the network itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from evenhand.errors import BadParameter
from evenhand.interop.deployed_policy import OPERATIONS, NumpyPolicy, NumpyProgram
from evenhand.learn.host import HostLoop
from evenhand.learn.policies import Greedy
from evenhand.problem.problem import AgentView

if TYPE_CHECKING:
    from jaxtyping import Array, Float

TOLERANCE = 1e-5  # by which the values of an exported policy may differ, relative to their size
_SETTINGS = (
    *("shape", "broadcast_dimensions", "dimension", "axes", "new_sizes", "dimensions"),
    *("permutation", "sizes", "axis", "y"),
)
_INLINE = ("jit", "pjit", "custom_jvp_call", "closed_call")


def export_policy(learned: Greedy | HostLoop) -> NumpyPolicy:
    """A learned policy that needs NumPy alone; checked against the network it comes from.

    Args:
        learned: The greedy policy of a seed (`Learned.policy()`, `load_policies(path).policy()`),
            or a learner that `gymnasium_learner` made.
    """
    greedy = learned if isinstance(learned, Greedy) else _greedy(learned)
    problem, size = greedy.problem, greedy.problem.environment.num_stakeholders
    scheme_state = problem.pay.init(size)
    if jax.tree.leaves(greedy.network.start()) or jax.tree.leaves(
        (scheme_state.filter, scheme_state.fold)
    ):
        raise BadParameter(
            "this policy carries more than its memory from step to step (a recurrent network, or a "
            "scheme's counters): only policies of state and memory can be exported."
        )
    first = problem.initial(jax.random.key(0))

    def values(state: Any, memory: Any) -> Float[Array, " action"]:
        seen = AgentView(memory, scheme_state.filter, scheme_state.fold)
        features = greedy.encoder(problem, state, seen)
        return greedy.network.apply(greedy.weights, (), features)[1]

    program = record(values, {"state": first.state, "memory": first.memory})
    policy = NumpyPolicy(program, problem.memory, size, problem.environment.num_actions)
    _require_alike(policy, jax.jit(values), first)
    return policy


def _greedy(loop: HostLoop) -> Greedy:
    agent = loop.agent
    return Greedy(agent.problem, agent.encoder, agent.network, loop.weights)


def record(function: Any, arguments: dict[str, Any]) -> NumpyProgram:
    """What a function does with its arguments, as jax traces it; their leaves are the inputs."""
    traced = jax.make_jaxpr(function)(*arguments.values())
    leaves, _ = jax.tree_util.tree_flatten_with_path(arguments)
    # In the order of the function's parameters, which a dictionary's leaves are not.
    names = [_name(path) for part in arguments for path, _ in leaves if path[0].key == part]
    return _Recorder(names).record(traced)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


class _Recorder:
    """Numbers the slots of a traced function, and drops what the output does not depend on."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.constants: list[np.ndarray] = []
        self.rows: list[tuple[str, list[Any], list[Any], dict[str, Any]]] = []

    def record(self, traced: Any) -> NumpyProgram:
        inputs = [("in", i) for i in range(len(self.names))]
        (output,) = self._walk(traced.jaxpr, traced.consts, inputs)
        needed, kept = {output}, []
        for row in reversed(self.rows):
            if needed & set(row[2]):
                needed |= set(row[1])
                kept.append(row)
        kept.reverse()
        slots = [slot for slot in inputs if slot in needed]
        used = [self.names[i] for _, i in slots]
        fixed = [("const", i) for i in range(len(self.constants)) if ("const", i) in needed]
        order = {slot: i for i, slot in enumerate([*slots, *fixed])}
        for _, _, to, _ in kept:
            for slot in to:
                order.setdefault(slot, len(order))
        operations = tuple(
            {"do": do, "from": [order[s] for s in given], "to": [order[s] for s in to], **how}
            for do, given, to, how in kept
        )
        constants = tuple(self.constants[i] for _, i in fixed)
        kinds = [traced.jaxpr.invars[i].aval for _, i in slots]
        forms = {n: [k.dtype.name, list(k.shape)] for n, k in zip(used, kinds, strict=True)}
        return NumpyProgram(tuple(used), constants, operations, order[output], forms)

    def _constant(self, value: Any) -> tuple[str, int]:
        self.constants.append(np.asarray(value))
        return "const", len(self.constants) - 1

    def _walk(self, jaxpr: Any, consts: Any, given: list[Any]) -> list[Any]:
        known = dict(zip(jaxpr.invars, given, strict=True))
        for variable, value in zip(jaxpr.constvars, consts, strict=True):
            known[variable] = self._constant(value)

        def slot(atom: Any) -> Any:
            return self._constant(atom.val) if hasattr(atom, "val") else known[atom]

        for equation in jaxpr.eqns:
            name, inputs = equation.primitive.name, [slot(atom) for atom in equation.invars]
            if name in _INLINE:
                inner = equation.params.get("jaxpr") or equation.params["call_jaxpr"]
                found = self._walk(inner.jaxpr, inner.consts, inputs)
            else:
                found = [("made", len(self.rows), i) for i in range(len(equation.outvars))]
                self.rows.append((name, inputs, found, _settings(name, equation)))
            known |= dict(zip(equation.outvars, found, strict=True))
        return [slot(atom) for atom in jaxpr.outvars]


def _settings(name: str, equation: Any) -> dict[str, Any]:
    """The parameters of a NumPy operation, as JSON has them; refuses what is not known here."""
    params = equation.params
    if name == "dot_general":
        contracted, batched = params["dimension_numbers"]
        if not any(batched):
            return {"axes": [list(map(int, axes)) for axes in contracted]}
    elif name == "slice":
        steps = params["strides"] or (1,) * len(params["start_indices"])
        ends = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
        return {"ends": [list(map(int, one)) for one in ends]}
    elif name == "gather":
        if equation.invars[0].aval.ndim == 1 and tuple(params["slice_sizes"]) == (1,):
            return {}
    elif name == "convert_element_type":
        return {"new_dtype": np.dtype(params["new_dtype"]).name}
    elif name == "div":
        if np.issubdtype(equation.invars[0].aval.dtype, np.floating):
            return {}
    elif name in OPERATIONS:
        return {key: _plain(params[key]) for key in _SETTINGS if params.get(key) is not None}
    raise BadParameter(
        f"the policy uses {name}, which cannot be exported this way: keep the policy file, and jax."
    )


def _plain(value: Any) -> Any:
    return int(value) if np.ndim(value) == 0 else [int(part) for part in value]


def _require_alike(policy: NumpyPolicy, network: Any, first: Any) -> None:
    """Compare with the network itself, in states and memories made up near the first ones."""
    rng = np.random.default_rng(0)

    def near(leaf: Any) -> np.ndarray:
        leaf = np.asarray(leaf)
        if leaf.dtype == bool:
            return rng.random(leaf.shape) < 0.5
        moved = leaf + rng.integers(0, 5, leaf.shape)
        return moved.astype(leaf.dtype)

    for _ in range(20):
        state, memory = jax.tree.map(near, (first.state, first.memory))
        paths, _ = jax.tree_util.tree_flatten_with_path({"state": state, "memory": memory})
        ours = policy.program.run({_name(path): leaf for path, leaf in paths})
        theirs = np.asarray(network(state, memory))
        if not np.allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE):
            raise BadParameter(
                f"the exported policy values actions at {ours.tolist()} where the network has "
                f"{theirs.tolist()}: keep the policy file, and jax."
            )
