"""What can happen to a file, to a text, and to a tree of JSON."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

places = st.integers(0, 1000).map(lambda k: k / 1000)
# What stands where something else should: the wrong type, the wrong size, nothing.
ODD_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**63, 2**64, 10**12, 10**23, -(10**23)),
    *(0.5, -0.5, 1e308, -1e308, float("nan"), float("inf"), float("-inf")),
    *("", "x", "nan", "doughnuts", "\0", "\ud800", "x" * 5000, "２"),
    *([], {}, [[]], [1, "x"], [None], {"name": "x"}, {"x": {}}, ["full"] * 3, [10**9] * 4),
]
DEEP = 5000


def rarely(draw: st.DrawFn, one_in: int) -> bool:
    """True one time in so many; the simplest is what is usual."""
    return draw(st.sampled_from([False] * (one_in - 1) + [True]))


HUGE_TEXTS = ["(" * 3000, "[" * 100_000, "{" * 3000, "\0" * 3000, "9" * 5000, "a." * 3000]


def flip(content: bytes, at: float, value: int) -> bytes:
    if not content:
        return content
    k = int(at * (len(content) - 1))
    return content[:k] + bytes([content[k] ^ (value or 1)]) + content[k + 1 :]


def cut(content: bytes, at: float, value: int) -> bytes:
    return content[: int(at * len(content))]


def insert(content: bytes, at: float, value: int) -> bytes:
    k = int(at * len(content))
    return content[:k] + bytes([value]) * (1 + value % 5) + content[k:]


def leave_out(content: bytes, at: float, value: int) -> bytes:
    k = int(at * len(content))
    return content[:k] + content[k + 1 + value :]


def repeat(content: bytes, at: float, value: int) -> bytes:
    k = int(at * len(content))
    return content[:k] + content[max(0, k - 40) : k] * (1 + value) + content[k:]


def mark(content: bytes, at: float, value: int) -> bytes:
    """A byte-order mark, of this or that encoding."""
    return [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b"][value % 4] + content


def nonsense(content: bytes, at: float, value: int) -> bytes:
    return bytes((value * k) % 256 for k in range(int(at * 200)))


DAMAGES = {one.__name__: one for one in (flip, cut, insert, leave_out, repeat, mark, nonsense)}
Damage = tuple[tuple[str, float, int], ...]
damages = st.lists(
    st.tuples(st.sampled_from(sorted(DAMAGES)), places, st.integers(0, 255)), min_size=1, max_size=3
).map(tuple)


def damaged(content: bytes, damage: Damage) -> bytes:
    for name, at, value in damage:
        content = DAMAGES[name](content, at, value)
    return content


def nested(depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def paths_in(tree: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of a tree of JSON."""
    inner = tree.items() if isinstance(tree, dict) else ()
    inner = enumerate(tree) if isinstance(tree, list) else inner
    return [here, *(path for key, value in inner for path in paths_in(value, (*here, key)))]


def changed(tree: Any, path: tuple[Any, ...], how: str, value: Any) -> Any:
    """The tree with what lies at a path left out, replaced, or wrapped."""
    if not path:
        return {"leave out": None, "replace": value, "list": [tree], "table": {"x": tree}}[how]
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    key, *rest = path
    if not rest and how == "leave out":
        del copy[key]
    else:
        copy[key] = changed(copy[key], tuple(rest), how, value)
    return copy


changes = st.tuples(
    places,
    st.sampled_from(["leave out", "replace", "replace", "replace", "list", "table"]),
    st.sampled_from(ODD_VALUES),
)


def changed_somewhere(tree: Any, some: list[tuple[float, str, Any]]) -> Any:
    for at, how, value in some:
        paths = paths_in(tree)
        tree = changed(tree, paths[int(at * (len(paths) - 1))], how, value)
    return tree
