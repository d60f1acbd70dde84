"""Which extra of evenhand brings a package, and the sentence that says so where it is missing."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator

from evenhand.errors import MissingExtra

# The packages of each extra that our code imports, by the names that Python knows them by.
EXTRAS = {
    "learn": ("automata", "equinox", "gymnasium", "jax", "jaxlib", "optax"),
    "serve": (
        *("fastapi", "httptools", "itsdangerous", "multipart", "python_multipart", "uvicorn"),
        "uvloop",
    ),
    "sb3": ("stable_baselines3", "torch"),
    "mo": ("mo_gymnasium",),
    "ray": ("ray",),
    "spark": ("pyspark",),
    "sql": ("ibis", "psycopg", "sqlglot"),
    "excel": ("xlsxwriter",),
}


def missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """The sentence about a package that could not be imported; None if no extra brings it."""
    package = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages:
            return MissingExtra(
                f"this needs {package}, which is not installed: pip install 'evenhand[{extra}]'."
            )
    return None


def not_installed(package: str) -> MissingExtra:
    """The same, of a package of an extra by its name."""
    missing = missing_extra(ModuleNotFoundError(name=package))
    assert missing is not None, f"{package} is in no extra"
    return missing


def require_packages(*packages: str) -> None:
    """Refuse in a sentence, before anything is done, where one of an extra's packages is missing.

    Nothing is loaded, only looked for.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise not_installed(package)


@contextlib.contextmanager
def naming_the_extra() -> Iterator[None]:
    """What is imported meanwhile and is not installed is a plain sentence."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        raise missing from None
