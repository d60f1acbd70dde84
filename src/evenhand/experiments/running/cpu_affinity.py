"""The cores of this machine, and one of them for a process that learns."""

from __future__ import annotations

import contextlib
import os
import socket
import zlib

TURNS = 64  # how many processes may share a core before the next ones are left where they are

_claims: list[socket.socket] = []  # held as long as the process lives, however it ends


def cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def keep_to_one_core() -> None:
    """Stay on one core, the one that fewest others have claimed; to be done before JAX counts them.

    Two pools of threads on the same cores only wait for each other. And other numbers of threads
    add up in another order: on one core, all machines of a kind come to the same digits.
    """
    if _claims or not hasattr(os, "sched_setaffinity"):
        return
    # Where containers share a machine and do not see each other, not all begin with the same core.
    here = cores()
    first = zlib.crc32(socket.gethostname().encode()) % len(here)
    for turn in range(TURNS):
        for core in here[first:] + here[:first]:
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                # A name that belongs to one process at a time, and goes when the process goes.
                claim.bind(f"\0evenhand/core{core}/{turn}")
            except OSError:
                claim.close()
                continue
            _claims.append(claim)
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, {core})
            return
