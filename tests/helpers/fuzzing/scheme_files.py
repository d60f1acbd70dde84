"""Scheme files: every part with sensible and odd parameters, and damaged text."""

from __future__ import annotations

from typing import Any

import tomli_w
from hypothesis import strategies as st

from fuzzing.damage import DEEP, damaged, damages, rarely
from fuzzing.trial import Plain

NUMBERS: list[Any] = [
    *(1, 2, 3, 12, 0, -1, 0.5, 0.9, 1.0, -0.5, 2.0),
    *(10**12, 2**31, 2**62, -(10**12), 1e308, 1e-308, float("nan"), float("inf"), True),
]
LISTS: list[Any] = [
    [1, 2],
    [1.0, 1.0],
    [3, 2, 1],
    [],
    [0, 0],
    [-1, 1],
    [[1]],
    ["A"],
    [1e308, 1e308],
]
VALUES = [*NUMBERS, *LISTS, "x", "", {"A": [0], "B": [1]}, {"A": []}, {"A": [0, 0]}, {"A": [10**9]}]
PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "status": {
        "returns": ("discount",),
        "decayed": ("half_life",),
        "window": ("length",),
        "waiting_time": (),
        "group_totals": ("groups", "of"),
        "per_entitlement": ("entitlements", "of"),
        "envy_of_best": ("of",),
        "pairwise_envy": ("of",),
        "modulo": ("modulus", "of"),
        "capped": ("cap", "of"),
    },
    "welfare": {
        "utilitarian": (),
        "average": (),
        "rawls": (),
        "nash": (),
        "geometric_mean": (),
        "log_nash": ("offset",),
        "generalised_gini": ("weights",),
        "gini": (),
        "alpha_fair": ("alpha", "offset"),
        "jain": (),
        "equality": ("tolerance",),
        "parity": ("groups",),
        "negative_variance": (),
    },
    "temporal": {
        "last": (),
        "total": (),
        "mean": (),
        "discounted": ("discount",),
        "worst": (),
        "over_time": ("welfare",),
    },
    "filter": {
        "always": (),
        "every": ("period",),
        "final": (),
        "after_each": ("amount",),
    },
    "aggregation": {"timepoint_first": (), "balanced_unfairness": ()},
}


@st.composite
def _part(draw: st.DrawFn, kind: str, depth: int = 0) -> Any:
    name = draw(st.sampled_from([*PARTS[kind], *PARTS[kind], "x"]))
    parameters: dict[str, Any] = {}
    for parameter in PARTS[kind].get(name, ("x",)):
        if rarely(draw, 4):
            continue
        if parameter == "of" and depth < 3:
            parameters[parameter] = draw(_part("status", depth + 1))
        elif parameter == "welfare":
            parameters[parameter] = draw(_part("welfare", depth + 1))
        else:
            parameters[parameter] = draw(st.sampled_from(VALUES))
    return {"name": name, **parameters} if parameters else name


@st.composite
def _built(draw: st.DrawFn) -> bytes:
    chosen = draw(st.lists(st.sampled_from(sorted(PARTS)), max_size=3, unique=True))
    table = {kind: draw(_part(kind)) for kind in chosen}
    if rarely(draw, 8):
        table[draw(st.sampled_from(["empty", "x", "name"]))] = draw(st.sampled_from(VALUES))
    return tomli_w.dumps(table).encode("utf-8", "replace")


def _of(depth: int) -> str:
    return "{ name = 'capped', cap = 1, of = " * depth + "'returns'" + " }" * depth


EXTREME = [
    f"status = {'[' * DEEP}{']' * DEEP}",
    f"status = {_of(3000)}",
    f"status = {_of(200)}",
    f"filter = {{ name = 'every', period = {'9' * 5000} }}",
    f"filter = {{ name = 'every', period = {10**23} }}",
    f"filter = {{ name = 'after_each', amount = {10**400} }}",
    f"status = {{ name = 'window', length = {10**12} }}",
    f"status = {{ name = 'window', length = {10**23} }}",
    f"status = {{ name = 'modulo', modulus = {10**400} }}",
    f"welfare = {{ name = 'alpha_fair', alpha = {10**400} }}",
    f"empty = {10**400}",
    f"{'a.' * 3000}a = 1",
    f"[{'a.' * 3000}a]",
    "empty = 2021-01-01",
    "empty = 1e999",
    "welfare = 'rawls'\nwelfare = 'nash'",
    "",
    "\0",
    f"temporal = {'{ name = ' * 3000}",
    f"# {'x' * 10**6}",
]

scheme_files = st.one_of(
    _built(),
    _built(),
    st.tuples(_built(), damages).map(lambda pair: damaged(*pair)),
    st.sampled_from(EXTREME).map(str.encode),
).map(Plain)
