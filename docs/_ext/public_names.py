"""The API reference, generated from the public names when docs/api.md is read.

A line `<!-- names of: module, module -->` is replaced by what those modules make public: what
`evenhand` or a package on the way to the module exports from it, its own `__all__` and its abstract
base classes, or, where there is none of that, all that it defines. Where a package is listed after
its modules, it adds what they have not shown. A name that `evenhand` or a listed package exports
and that is shown nowhere is a warning, and so an error.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

PLACE = re.compile(r"<!-- names of: (.*?) -->", re.S)
LISTS = {"Args:", "Attributes:", "Raises:"}  # sections with an indented entry for each name


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _fill)
    app.connect("env-get-outdated", lambda *_: ["api"])  # the code may have changed
    app.connect("autodoc-process-docstring", _as_prose)
    app.connect("autodoc-skip-member", _skip_undocumented)
    return {"parallel_read_safe": True}


def _fill(app: Any, page: str, source: list[str]) -> None:
    from sphinx.util import logging  # here, so that tests need no Sphinx

    if not PLACE.search(source[0]):
        return
    source[0], missing = filled(source[0])
    for name in missing:
        logging.getLogger(__name__).warning("%s has no place on the page %s", name, page)


def filled(text: str) -> tuple[str, list[str]]:
    """The page with its names, and the public names that it does not show."""
    listed = [name for place in PLACE.findall(text) for name in re.split(r",\s*", place)]
    shown: set[Any] = set()
    text = PLACE.sub(lambda place: _entries(re.split(r",\s*", place[1]), shown), text)
    packages = dict.fromkeys(package for name in listed for package in _packages(name))
    missing = [
        f"{package.__name__}.{public}"
        for package in packages
        for public, thing in _exports(package)
        if thing not in shown
    ]
    return text, missing


def _packages(name: str) -> list[ModuleType]:
    """`evenhand`, and the packages from there to a module; of a package, itself too."""
    parts = name.split(".")
    paths = [".".join(["evenhand", *parts[:depth]]) for depth in range(len(parts) + 1)]
    found = [importlib.import_module(path) for path in paths]
    return [module for module in found if hasattr(module, "__path__")]


def _exports(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The classes and functions that a module names in `__all__`."""
    for public in sorted(getattr(module, "__all__", ())):
        thing = getattr(module, public)
        if callable(thing):  # a class, or a function, which may be compiled
            yield public, thing


def _entries(modules: list[str], shown: set[Any]) -> str:
    lines = []
    for name in modules:
        module = importlib.import_module(f"evenhand.{name}")
        # What is exported from two places is shown where it comes first on the page.
        public = [p for p in _public(module, name) if getattr(module, p) not in shown]
        if public:
            lines += [f".. rubric:: evenhand.{name}", "", *_first_line(module), ""]
        for one in public:
            thing = getattr(module, one)
            shown.add(thing)
            kind = "autoclass" if inspect.isclass(thing) else "autofunction"
            members = ["   :members:"] if kind == "autoclass" else []
            lines += [f".. {kind}:: evenhand.{name}.{one}", *members, ""]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def _public(module: ModuleType, name: str) -> list[str]:
    own = {
        public: value
        for public, value in vars(module).items()
        if not public.startswith("_") and callable(value) and value.__module__ == module.__name__
    }
    exported = {thing for package in _packages(name) for _, thing in _exports(package)}
    named = {public for public, _ in _exports(module)}
    named |= {public for public, value in own.items() if value in exported}
    if not named:
        return list(own)
    # What users subclass is public too, and comes first.
    bases = [public for public, value in own.items() if inspect.isabstract(value)]
    return [*bases, *sorted(named - set(bases))]


def _first_line(module: ModuleType) -> list[str]:
    lines = (module.__doc__ or "").split("\n")[:1]
    _as_prose(None, "module", module.__name__, module, None, lines)
    return lines


def _as_prose(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with `code`, argument lists and examples, and no other markup."""
    prose, in_example = [], False
    for line in _with_lists(lines):
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


def _with_lists(lines: list[str]) -> Iterator[str]:
    """Sections such as `Args:` as lists with an entry for each name."""
    in_list = False
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if line.strip() in LISTS:
            in_list = True
            yield from ("", f"{line.strip()}", "")
        elif in_list and line.strip() and depth == 0:
            in_list = False
            yield from ("", line)
        elif in_list and depth == 4:
            name, _, words = line.strip().partition(": ")
            yield f"- `{name}`: {words}"
        elif in_list and line.strip():
            yield f"  {line.strip()}"
        else:
            yield line


def _skip_undocumented(
    app: Any, what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out the fields of named tuples: they are in the signature and have no docstring."""
    return True if (getattr(thing, "__doc__", None) or "").startswith("Alias for field") else None
