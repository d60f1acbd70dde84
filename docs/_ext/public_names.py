"""The API reference, made of the public names: docs/api.md is filled when it is read.

A line `<!-- names of: module, module -->` is replaced by what those modules make public: what
`evenhand` exports from them, their own `__all__` and what others derive from, or, where there is
none of that, all that they define. A name that `evenhand` exports and no line covers is a warning,
and so an error.
"""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

from sphinx.util import logging

import evenhand

PLACE = re.compile(r"<!-- names of: (.*?) -->", re.S)
log = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _fill)
    app.connect("env-get-outdated", lambda *_: ["api"])  # the code may have changed
    app.connect("autodoc-process-docstring", _as_prose)
    app.connect("autodoc-skip-member", _without_a_word)
    return {"parallel_read_safe": True}


def _fill(app: Any, page: str, source: list[str]) -> None:
    if not PLACE.search(source[0]):
        return
    covered = {m for place in PLACE.findall(source[0]) for m in re.split(r",\s*", place)}
    for name, home in evenhand._MODULE_OF.items():
        if home.split(".")[0] not in covered:
            log.warning("evenhand.%s is public and has no place on the page %s", name, page)
    shown: set[Any] = set()
    source[0] = PLACE.sub(lambda place: _entries(re.split(r",\s*", place[1]), shown), source[0])


def _entries(modules: list[str], shown: set[Any]) -> str:
    lines = []
    for name in modules:
        module = importlib.import_module(f"evenhand.{name}")
        lines += [f".. rubric:: evenhand.{name}", "", *_first_line(module), ""]
        for public in _public(module, name):
            thing = getattr(module, public)
            if thing in shown:  # exported from two places; the first is where it is at home
                continue
            shown.add(thing)
            kind = "autoclass" if inspect.isclass(thing) else "autofunction"
            members = ["   :members:"] if kind == "autoclass" else []
            lines += [f".. {kind}:: evenhand.{name}.{public}", *members, ""]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def _public(module: ModuleType, name: str) -> list[str]:
    exported = {public for public, home in evenhand._MODULE_OF.items() if home == name}
    named = exported | set(getattr(module, "__all__", ()))
    own = {
        public: value
        for public, value in vars(module).items()
        if not public.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    }
    if not named:
        return list(own)
    # What others derive from is public too, and comes first.
    bases = [public for public, value in own.items() if inspect.isabstract(value)]
    return [*bases, *sorted(named - set(bases))]


def _first_line(module: ModuleType) -> list[str]:
    lines = (module.__doc__ or "").split("\n")[:1]
    _as_prose(None, "module", module.__name__, module, None, lines)
    return lines


def _as_prose(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with `code` and examples; nothing else in them is markup."""
    prose, in_example = [], False
    for line in lines:
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if in_example:
            prose.append(line)
        else:
            pieces = line.split("`")
            text = [re.sub(r"([\\*_|])", r"\\\1", piece) for piece in pieces[::2]]
            code = [f"``{piece}``" for piece in pieces[1::2]]
            mixed = [piece for pair in zip(text, [*code, ""], strict=False) for piece in pair]
            prose.append("".join(mixed) if len(pieces) % 2 else line.replace("`", r"\`"))
    lines[:] = prose


def _without_a_word(
    app: Any, what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out the fields of named tuples: the signature has them and no words are lost."""
    return True if (getattr(thing, "__doc__", None) or "").startswith("Alias for field") else None
