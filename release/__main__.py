"""Make a release ready, and try it.

    python -m release pythons dist/evenhand-0.3.0-py3-none-any.whl
    python -m release oldest dist/evenhand-0.3.0-py3-none-any.whl
    python -m release licences           # writes docs/licences.md
    python -m release materials dist     # writes the bill of materials beside the wheel

The last two tell what is installed for the Python that runs them: `make release` makes an
environment for it, with the wheel and its extras and nothing else.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from release.bill_of_materials import bill_of_materials
from release.dependencies import Dependency, closure
from release.licences import licence_page, unfitting
from release.pythons import interpreters, try_wheel

PAGE = Path(__file__).resolve().parents[1] / "docs" / "licences.md"
EXTRAS = ("learn", "serve", "excel", "sql")
PYTHONS = "python3.11,python3.12,python3.13,python3.14"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m release",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("pythons", "oldest", "licences", "materials"))
    parser.add_argument("where", type=Path, nargs="?", help="the wheel, or the folder it is in")
    parser.add_argument("--pythons", default=PYTHONS, help=f"interpreters ({PYTHONS})")
    options = parser.parse_args()
    if options.what in ("pythons", "oldest"):
        here = interpreters(options.pythons.split(","))
        oldest = options.what == "oldest"
        tried = here[:1] if oldest else here
        worked = [try_wheel(options.where.resolve(), one, oldest) for one in tried]
        sys.exit(not all(worked))
    found = closure(EXTRAS)
    refuse_unfitting(found)
    if options.what == "licences":
        PAGE.write_text(licence_page(found))
        return
    version = metadata.version("evenhand")
    files = [path for path in options.where.iterdir() if path.suffix in (".whl", ".gz")]
    bill = bill_of_materials(version, found, files)
    written = options.where / f"evenhand-{version}.cdx.json"
    written.write_text(json.dumps(bill, indent=2) + "\n")
    print(f"{written}: {len(found)} packages")


def refuse_unfitting(found: Sequence[Dependency]) -> None:
    """Stop where a licence does not fit, or is not known."""
    if wrong := unfitting(found):
        sys.exit("\n".join(f"{one.name} {one.version}: {one.licence}" for one in wrong))


if __name__ == "__main__":
    main()
