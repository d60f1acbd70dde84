"""A software bill of materials in the format of CycloneDX 1.6, as scanners read it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from release.dependencies import UNKNOWN, Dependency


def bill_of_materials(
    version: str, found: Sequence[Dependency], files: Sequence[Path] = ()
) -> dict[str, Any]:
    """What evenhand needs, in versions with which it was tried; the same for the same input.

    Args:
        version: That of evenhand.
        found: What is installed with it.
        files: The files of the release, of which digests are given.
    """
    root = f"pkg:pypi/evenhand@{version}"
    known = {one.name: _url(one) for one in found}
    links = [{"ref": root, "dependsOn": sorted(known.values())}]
    for one in found:
        needs = sorted(known[name] for name in one.needs if name in known)
        links.append({"ref": _url(one), "dependsOn": needs})
    hashes = [
        {"type": "file", "name": path.name, "hashes": [_digest(path)]} for path in sorted(files)
    ]
    ours = {"type": "library", "bom-ref": root, "name": "evenhand", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                **ours,
                "purl": root,
                "licenses": [{"expression": "MIT AND BSD-3-Clause AND ISC"}],
                "components": hashes,
            }
        },
        "components": [_component(one) for one in found],
        "dependencies": links,
    }


def _url(one: Dependency) -> str:
    return f"pkg:pypi/{one.name}@{one.version}"


def _component(one: Dependency) -> dict[str, Any]:
    said = {} if one.licence == UNKNOWN else {"licenses": [{"expression": one.licence}]}
    extra = [{"name": "evenhand:extra", "value": one.brought_by or "none"}]
    return {
        "type": "library",
        "bom-ref": _url(one),
        "name": one.name,
        "version": one.version,
        "purl": _url(one),
        "scope": "optional" if one.brought_by else "required",
        **said,
        "properties": extra,
    }


def _digest(path: Path) -> dict[str, str]:
    return {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
