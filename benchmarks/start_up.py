"""Start-up times, compared with bare Python."""

from __future__ import annotations

import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import evenhand": [sys.executable, "-c", "import evenhand"],
    "evenhand --help": [sys.executable, "-m", "evenhand", "--help"],
    "evenhand demo": [sys.executable, "-m", "evenhand", "demo"],
}


def main() -> None:
    for name, command in COMMANDS.items():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        print(f"{name}: {min(times):.2f} s")
