"""Mutants: every small mistake that can be made in a file, each as one change of its text."""

from __future__ import annotations

import ast
import bisect
import copy
import hashlib
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAIRS = [
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)),
    *((ast.In, ast.NotIn), (ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv)),
    *((ast.BitAnd, ast.BitOr), (ast.LShift, ast.RShift)),
]
SWAPPED: dict[type[ast.AST], Any] = dict(PAIRS)
SWAPPED |= {second: first for first, second in PAIRS}
SWAPPED |= {ast.Div: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult}
OPPOSITES = [("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all")]
RENAMED = dict(OPPOSITES) | {b: a for a, b in OPPOSITES}
# Calls whose two arguments may change places unnoticed, or never without a crash.
ORDER_IS_IDLE = {
    *("min", "max", "minimum", "maximum", "add", "multiply", "logical_and", "logical_or"),
    *("array_equal", "allclose", "isclose", "isinstance", "issubclass", "cast", "TypeVar"),
}
# What these write is read by people.
FOR_PEOPLE = {"__repr__", "__str__", "_repr_html_", "describe"}


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from `start` to `end` of a file become `text`."""

    file: str  # as named below src/evenhand
    statement: int  # the line on which the statement begins
    line: int
    start: int
    end: int
    text: str
    source: str  # the line as it stands
    change: str
    origin: str  # a digest of the file as it stands

    @property
    def key(self) -> str:
        said = f"{self.file}|{self.start}|{self.end}|{self.text}|{self.origin}"
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def applied(self, original: bytes) -> bytes:
        return original[: self.start] + self.text.encode() + original[self.end :]


def mutants_of_file(root: Path, path: Path) -> list[Mutant]:
    """All mutants of a file, in the order of their place; a few of them are not Python."""
    source = path.read_bytes()
    lines = source.splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    found = {}
    tree, origin = ast.parse(source), hashlib.sha256(source).hexdigest()
    statements = sorted({node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)})
    for node, text, change in _Changes().of(tree):
        mutant = Mutant(
            str(path.relative_to(root)),
            statements[bisect.bisect(statements, node.lineno) - 1],
            node.lineno,
            begins[node.lineno - 1] + node.col_offset,
            begins[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0),
            text,
            lines[node.lineno - 1].decode().strip(),
            change,
            origin,
        )
        found[mutant.key] = mutant
    return sorted(found.values(), key=lambda m: (m.start, m.end, m.text))


def mutants_below(root: Path, names: Sequence[str]) -> list[Mutant]:
    """All mutants of the folders and files named, such as `fairness` or `learn/schedules.py`."""
    paths: set[Path] = set()
    for name in names:
        place = root / name
        if not place.exists():
            raise FileNotFoundError(f"there is no {name} below {root}.")
        paths |= {place} if place.is_file() else set(place.rglob("*.py"))
    return [mutant for path in sorted(paths) for mutant in mutants_of_file(root, path)]


def sample(root: Path, mutants: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """A random sample, uniform over mutants: a line with many mutants is drawn more often."""
    shuffled = random.Random(seed).sample(mutants, len(mutants))
    python = (mutant for mutant in shuffled if _compiles(root, mutant))
    return list(itertools.islice(python, size))


def _compiles(root: Path, mutant: Mutant) -> bool:
    try:
        compile(mutant.applied((root / mutant.file).read_bytes()), mutant.file, "exec")
    except SyntaxError:
        return False
    return True


Placed = ast.expr | ast.stmt
Change = tuple[Placed, str, str]


class _Changes:
    """Walks a file, leaving out what is not behaviour: annotations, decorators, text, messages."""

    def of(self, tree: ast.AST) -> Iterator[Change]:
        yield from self._changes_of(tree)
        for child in self._children(tree):
            yield from self.of(child)

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.FunctionDef) and node.name in FOR_PEOPLE:
            return
        if isinstance(node, ast.keyword) and node.arg == "strict":  # zip asserts equal lengths
            return
        if isinstance(node, ast.Call) and _name(node.func) in ("isinstance", "issubclass"):
            yield node.args[0]  # the other is a type
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            yield from (part for part in _as_list(value) if isinstance(part, ast.AST))

    def _changes_of(self, node: ast.AST) -> Iterator[Change]:
        kind = getattr(self, f"_{type(node).__name__}", None)
        if kind is not None:
            yield from kind(node)

    def _Compare(self, node: ast.Compare) -> Iterator[Change]:
        for place, operator in enumerate(node.ops):

            def swap(new: ast.Compare, place: int = place, operator: ast.AST = operator) -> None:
                new.ops[place] = SWAPPED[type(operator)]()

            yield _edited(node, swap)

    def _BinOp(self, node: ast.BinOp | ast.BoolOp) -> Iterator[Change]:
        if type(node.op) in SWAPPED and not _is_union(node):
            yield _edited(node, lambda new: setattr(new, "op", SWAPPED[type(node.op)]()))

    _BoolOp = _BinOp

    def _UnaryOp(self, node: ast.UnaryOp) -> Iterator[Change]:
        if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            yield _replaced(node, node.operand)

    def _Constant(self, node: ast.Constant) -> Iterator[Change]:
        if isinstance(node.value, (bool, int, float)):
            yield _replaced(node, ast.Constant(_other_constant(node.value)))

    def _Slice(self, node: ast.Slice) -> Iterator[Change]:
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, (ast.Constant, ast.UnaryOp)):
                yield _replaced(bound, ast.BinOp(bound, ast.Add(), ast.Constant(1)))

    def _Call(self, node: ast.Call) -> Iterator[Change]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
        if name in RENAMED:
            yield _edited(node.func, lambda new: _rename(new, RENAMED[name]))
        if len(node.args) == 2 and name not in ORDER_IS_IDLE and _alike(*node.args):
            yield _edited(node, lambda new: new.args.reverse())

    def _FunctionDef(self, node: ast.FunctionDef) -> Iterator[Change]:
        if node.returns is None or "None" not in ast.unparse(node.returns):
            return
        for statement in _own_returns(node):
            value = statement.value
            if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
                yield statement, "return None", f"{ast.unparse(statement)} → return None"

    def _deleted(self, node: ast.stmt) -> Iterator[Change]:
        yield node, "pass", f"{ast.unparse(node)} → (deleted)"

    def _AugAssign(self, node: ast.AugAssign) -> Iterator[Change]:
        yield from self._deleted(node)
        if type(node.op) in SWAPPED:
            new = copy.deepcopy(node)
            new.op = SWAPPED[type(node.op)]()
            yield node, ast.unparse(new), f"{ast.unparse(node)} → {ast.unparse(new)}"

    def _Assign(self, node: ast.Assign) -> Iterator[Change]:
        if all(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets):
            yield from self._deleted(node)

    def _Expr(self, node: ast.Expr) -> Iterator[Change]:
        if isinstance(node.value, ast.Call):
            yield from self._deleted(node)

    def _Break(self, node: ast.Break) -> Iterator[Change]:
        yield node, "continue", "break → continue"

    def _Continue(self, node: ast.Continue) -> Iterator[Change]:
        yield node, "break", "continue → break"


def _replaced(node: ast.expr, new: ast.AST) -> Change:
    text = ast.unparse(new)
    return node, f"({text})", f"{ast.unparse(node)} → {text}"


def _edited(node: ast.expr, edit: Callable[..., None]) -> Change:
    new = copy.deepcopy(node)
    edit(new)
    return _replaced(node, new)


def _other_constant(value: bool | int | float) -> bool | int | float:
    return not value if isinstance(value, bool) else value * 0 if value == 1 else value + 1


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _rename(node: ast.AST, name: str) -> None:
    setattr(node, "attr" if isinstance(node, ast.Attribute) else "id", name)


def _alike(first: ast.AST, second: ast.AST) -> bool:
    kinds = (ast.Name, ast.Attribute, ast.Subscript)
    differ = ast.dump(first) != ast.dump(second)  # to exchange the same for the same is no mistake
    return type(first) is type(second) and isinstance(first, kinds) and differ


def _is_union(node: ast.BinOp | ast.BoolOp) -> bool:
    """Whether `X | Y` is a type."""
    return isinstance(node.op, ast.BitOr) and any(
        word == "None" or word[:1].isupper()
        for word in ast.unparse(node).replace("[", " ").split(" | ")
    )


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _own_returns(node: ast.AST) -> Iterator[ast.Return]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _own_returns(child)
