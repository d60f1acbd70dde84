"""Run every benchmark, or those named: `python -m benchmarks scoring streaming`."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    # Studies take hours and are made by `evenhand reproduce`.
    modules = pkgutil.iter_modules(benchmarks.__path__)
    found = [m.name for m in modules if m.name[0] != "_" and not m.ispkg]
    for name in sys.argv[1:] or found:
        if name not in found:
            sys.exit(f"there is no benchmark {name!r}: there are {', '.join(found)}.")
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


main()
