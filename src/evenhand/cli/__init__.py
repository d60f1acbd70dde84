"""The command line. Each verb lives in its own file and loads what it needs when it runs."""

from __future__ import annotations

import sys

from evenhand.cli.app import app
from evenhand.errors import EvenhandError


def main() -> None:
    """Run a command: exit code 0 for done, 1 for a breached threshold, 2 for bad input."""
    try:
        app()
    except EvenhandError as error:
        # One plain sentence for a user's mistake; a traceback would only hide it.
        print(f"evenhand: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # such as `evenhand list | head`
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        print("evenhand: stopped.", file=sys.stderr)
        sys.exit(130)
