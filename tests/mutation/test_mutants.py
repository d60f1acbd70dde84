"""The mutants of a file: which there are, and that each is one change of the text."""

from __future__ import annotations

import ast

import pytest
from mutation.mutants import mutants_below, mutants_of_file, sample


def changes(tmp_path, source: str) -> list[str]:
    (tmp_path / "module.py").write_text(source)
    return [mutant.change for mutant in mutants_of_file(tmp_path, tmp_path / "module.py")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", ["a < b → a <= b"]),
        ("x = a == b != c", ["a == b != c → a != b != c", "a == b != c → a == b == c"]),
        ("x = a is None", ["a is None → a is not None"]),
        ("x = a + b", ["a + b → a - b"]),
        ("x = a * b", ["a * b → a // b"]),
        ("x = a / b", ["a / b → a * b"]),
        ("x = a and b", ["a and b → a or b"]),
        ("x = not a", ["not a → a"]),
        ("x = -a", ["-a → a"]),
        ("x = 0, 1, 5, 0.5, True", ["0 → 1", "1 → 0", "5 → 6", "0.5 → 1.5", "True → False"]),
        ("x = min(a)", ["min → max"]),
        ("x = np.all(a)", ["np.all → np.any"]),
        ("x = f(a, b)", ["f(a, b) → f(b, a)"]),
        ("x = f(a, b.c)", []),
        ("x = f(a, a)", []),
        ("x = min(a, b)", ["min → max"]),
        ("x = a[:n]", ["n → n + 1"]),
        ("x = a[:-1]", ["-1 → 1", "1 → 0"]),
        ("a.x = b", ["a.x = b → (deleted)"]),
        ("a[i] = b", ["a[i] = b → (deleted)"]),
        ("a += b", ["a += b → (deleted)", "a += b → a -= b"]),
        ("a.append(b)", ["a.append(b) → (deleted)"]),
        ("for a in b:\n    break", ["break → continue"]),
        ("def f(a=2): return a", ["2 → 3"]),
        ("def f() -> int | None:\n    return a", ["return a → return None"]),
        ("def f() -> int:\n    return a", []),
    ],
)
def test_each_kind_of_mistake(tmp_path, source, expected):
    assert sorted(changes(tmp_path, source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        '"""1 + 1"""',
        "x: Literal[1] = a",
        "def f(a: Annotated[int, 1 + 1]) -> Literal[2]: return a",
        "@decorated(1)\ndef f(): pass",
        "if a: raise ValueError(1 + 1)",
        "assert a + 1",
        "x = f'{a + 1}'",
        "def __repr__(self): return 1 + 1",
        "if TYPE_CHECKING:\n    x = 1",
        "Number = int | None",
        "x = isinstance(a, b.c | b.d)",
        "x = zip(a, b[c], strict=True)",
    ],
)
def test_what_is_no_behaviour_is_left_alone(tmp_path, source):
    assert changes(tmp_path, source) == []


def test_a_change_is_made_in_its_place_whatever_stands_around_it(tmp_path):
    """Places are counted in bytes: a line may have letters of several."""
    source = 'γ = "τ"; x = (a +\n     b) < τ  # ≤\n'
    (tmp_path / "module.py").write_text(source)
    mutants = mutants_of_file(tmp_path, tmp_path / "module.py")
    texts = [mutant.applied(source.encode()).decode() for mutant in mutants]
    assert 'γ = "τ"; x = ((a - b) < τ)  # ≤\n' not in texts
    assert 'γ = "τ"; x = ((a - b)) < τ  # ≤\n' in texts
    assert 'γ = "τ"; x = (a + b <= τ)  # ≤\n' in texts
    assert {(mutant.statement, mutant.line) for mutant in mutants} == {(1, 1)}
    for text in texts:
        ast.parse(text)


def test_a_sample_is_drawn_by_its_seed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.py").write_text("x = 1 + 2\ny = 3")
    (tmp_path / "two.py").write_text("z = a < b")
    every = mutants_below(tmp_path, ["folder", "two.py"])
    assert [mutant.file for mutant in every] == [*["folder/one.py"] * 4, "two.py"]
    assert sample(tmp_path, every, 3, 1) == sample(tmp_path, every, 3, 1)
    assert sample(tmp_path, every, 3, 1) != sample(tmp_path, every, 3, 2)
    assert {m.key for m in sample(tmp_path, every, 9, 1)} == {m.key for m in every}
    with pytest.raises(FileNotFoundError, match="there is no nothing"):
        mutants_below(tmp_path, ["nothing"])


def test_a_mutant_that_is_not_python_is_not_drawn(tmp_path):
    (tmp_path / "one.py").write_text("match a:\n    case 5 + 2j:\n        x = b")
    every = mutants_below(tmp_path, ["one.py"])
    # A pattern has no room for the parentheses around a number.
    assert [mutant.change for mutant in every] == ["5 → 6", "5 + 2j → 5 - 2j"]
    assert [mutant.change for mutant in sample(tmp_path, every, 9, 1)] == ["5 + 2j → 5 - 2j"]
