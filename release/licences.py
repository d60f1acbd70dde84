"""The licences of all that is installed with evenhand: listed, and none that does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from release.dependencies import Dependency

# What may be installed beside, and used by, a program under the MIT licence. MPL and LGPL bind
# changes to the library itself, which we do not make.
FITTING = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CNRI-Python", "HPND", "ISC"),
    *("LGPL-3.0-only", "LGPL-3.0-or-later", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Unlicense"),
    *("Zlib", "CC0-1.0", "BSL-1.0", "Apache-2.0 WITH LLVM-exception", "GCC-exception-3.1"),
    "GPL-3.0-or-later WITH GCC-exception-3.1",
}
PAGE = """\
# Licences

evenhand is under the MIT licence. Its package holds one file of others, the script that draws the
charts of its pages (Vega; BSD 3-Clause, ISC and MIT), whose notices are in the file NOTICE beside
the licence. What else it needs is installed beside it, each under a licence of its own, all of
which allow that. `python -m release licences` makes this page from what is installed, and a test
compares the two.

{tables}"""
HEADS = {
    "": "What everybody has (`pip install evenhand`)",
    "learn": "Planning and learning (`evenhand[learn]`)",
    "serve": "The service (`evenhand[serve]`)",
    "excel": "Workbooks (`evenhand[excel]`)",
    "sql": "Databases (`evenhand[sql]`)",
}


def unfitting(found: Sequence[Dependency]) -> list[Dependency]:
    """Those whose licence is not known to fit; one of several offered is enough."""
    return [one for one in found if not fits(one.licence)]


def fits(expression: str) -> bool:
    """Whether a licence expression of SPDX allows what we do with the package."""
    words = {"AND": "and", "OR": "or", "(": "(", ")": ")"}
    parts = re.findall(r"[()]|\b(?:AND|OR)\b|[^\s()]+(?:\s+WITH\s+[^\s()]+)?", expression)
    judged = " ".join(words.get(part, str(part in FITTING)) for part in parts)
    try:
        return bool(eval(judged, {"__builtins__": {}}))  # True, False, and, or, brackets alone
    except SyntaxError:  # not an expression of SPDX
        return False


def licence_page(found: Sequence[Dependency]) -> str:
    """docs/licences.md: a table for what everybody has, and one for each extra."""
    tables = []
    for extra, head in HEADS.items():
        rows = [f"| {one.name} | {one.licence} |" for one in found if one.brought_by == extra]
        if rows:
            tables.append("\n".join([f"## {head}\n", "| package | licence |", "|---|---|", *rows]))
    return PAGE.format(tables="\n\n".join(tables) + "\n")
