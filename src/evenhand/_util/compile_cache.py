"""Compiled functions kept between runs: JAX's persistent cache, in the user's cache folder.

Most of what a short `evenhand plan` or `train` does is compile. The cache is an accelerator and
nothing else: whatever is wrong with it, the run goes on without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import sys
import warnings
from importlib import metadata
from pathlib import Path

VARIABLE = "EVENHAND_CACHE"  # a folder, or one of these to go without
OFF = ("", "0", "off", "no", "false")
MAX_BYTES = 512 * 2**20
KEPT_SHARE = 0.8  # of that, after the oldest entries had to go
LEAST_SECONDS = 0.05  # what compiles faster than this is not worth a file


def enable_compile_cache() -> Path | None:
    """Switch the cache on for this process and those it starts; the folder, or None without one.

    To be called before jax is imported, which reads these variables then. A cache that the user
    has set up for all of JAX (JAX_COMPILATION_CACHE_DIR) is left as it is.
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return None
    folder = cache_folder()
    if folder is None or not _made_private(folder):
        return None
    prune(folder, MAX_BYTES)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", str(LEAST_SECONDS))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    # An entry that cannot be read or written costs its time, and nobody can do anything about it.
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation")
    return folder


def cache_folder() -> Path | None:
    """Where the entries of this machine and this version of JAX lie; None if switched off."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None and chosen.strip().lower() in OFF:
        return None
    try:
        base = Path(chosen).expanduser() if chosen else _user_cache() / "evenhand"
    except RuntimeError:  # a user without a home
        return None
    return base.absolute() / "compiled" / machine_name()


def _user_cache() -> Path:
    """The folder for caches, as each system has it."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def machine_name() -> str:
    """A name for what compiled code depends on and JAX's own keys leave out: the processor.

    A home folder may be shared by machines, and code for one processor can crash another.
    """
    known = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        wanted = ("model name", "flags", "Features")
        known += sorted({line for line in lines if line.startswith(wanted)})
    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()[:12]
    try:
        return f"jaxlib-{metadata.version('jaxlib')}-{digest}"
    except metadata.PackageNotFoundError:
        return digest


def _made_private(folder: Path) -> bool:
    """Make the folder and see to it that nobody else can put code there; False if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if sys.platform != "win32":
            known = folder.lstat()
            if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.getuid():
                return False
            folder.chmod(0o700)
    except (OSError, ValueError):
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def prune(folder: Path, max_bytes: int) -> None:
    """Delete the oldest entries of a cache that has grown beyond its limit."""
    entries = []
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):  # another process may be pruning too
            known = path.lstat()
            if stat.S_ISREG(known.st_mode):
                entries.append((known.st_mtime, known.st_size, path))
    total = sum(size for _, size, _ in entries)
    if total <= max_bytes:
        return
    for _, size, path in sorted(entries):
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
        if total <= KEPT_SHARE * max_bytes:
            return
