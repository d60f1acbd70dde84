"""What is installed with evenhand: what pyproject.toml asks for, and what those need."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "The Unlicense (Unlicense)": "Unlicense",
}
WORDS = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "isc": "ISC",
    "mit": "MIT",
    "mit license": "MIT",
    "mit-0": "MIT-0",
    "mpl-2.0": "MPL-2.0",
    "psf": "PSF-2.0",
}
UNKNOWN = "not said"
OURS = "evenhand"
PROJECT_FILE = Path(__file__).resolve().parents[1] / "pyproject.toml"


@dataclass(frozen=True)
class Dependency:
    """A distribution that is installed with evenhand, and the extra that brings it."""

    name: str
    version: str
    licence: str
    brought_by: str  # an extra, or "" for what everybody has
    needs: tuple[str, ...]


def closure(extras: Iterable[str]) -> list[Dependency]:
    """What is installed with these extras, by name, each once, with the first that brings it.

    Args:
        extras: The extras, after what everybody has.
    """
    found: dict[str, Dependency] = {}
    for extra in ("", *extras):
        left, seen = [(OURS, frozenset({extra} - {""}))], set()
        while left:
            name, wanted = left.pop()
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            needs = list(_needed(name, wanted))
            left += needs
            if name != OURS and name not in found:
                known = tuple(sorted({one for one, _ in needs}))
                version = metadata.version(name)
                found[name] = Dependency(name, version, licence_of(name), extra, known)
    return [found[name] for name in sorted(found)]


def _needed(name: str, extras: frozenset[str]) -> Iterable[tuple[str, frozenset[str]]]:
    for text in _ours() if name == OURS else metadata.requires(name) or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": one}) for one in extras | {""}):
            yield canonicalize_name(requirement.name), frozenset(requirement.extras)


def _ours() -> list[str]:
    """What pyproject.toml asks for, as the metadata of a wheel says it."""
    project = tomllib.loads(PROJECT_FILE.read_text())["project"]
    asked = list(project["dependencies"])
    for extra, wanted in project["optional-dependencies"].items():
        for one in wanted:
            name, _, marker = one.partition(";")
            also = f" and ({marker.strip()})" if marker else ""
            asked.append(f"{name}; extra == '{extra}'{also}")
    return asked


def licence_of(name: str) -> str:
    """The licence of a distribution as an SPDX expression, or `not said`."""
    known = metadata.metadata(name)
    if said := known.get("License-Expression"):
        return said
    words = (known.get("License") or "").strip()
    if spdx := WORDS.get(words.lower()):
        return spdx
    texts = [one.rpartition(" :: ")[2] for one in known.get_all("Classifier") or ()]
    for text in texts:
        if text in CLASSIFIERS:
            return CLASSIFIERS[text]
    if re.match(r"\s*(the )?mit license", words, re.I):
        return "MIT"
    return UNKNOWN
