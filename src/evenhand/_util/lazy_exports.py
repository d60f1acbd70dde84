"""Names that a package exports and loads when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evenhand._util.extras import naming_the_extra


def lazy_exports(
    package: str, home: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose names live in modules below it.

        __getattr__, __dir__, __all__ = lazy_exports(__name__, {"learn.fairqcm": ("FairQCM",)})

    Args:
        package: The package's own `__name__`.
        home: The names that each module has, by the module's name without the package's, or by its
            whole name where it lies outside the package.
    """
    module_of = {
        name: module if module.startswith("evenhand.") else f"{package}.{module}"
        for module, names in home.items()
        for name in names
    }

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with naming_the_extra():
            value = getattr(importlib.import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)  # found there the next time
        return value

    names = sorted(module_of)
    return load, lambda: list(sys.modules[package].__all__), names
