"""Files of users: read only if they are files, written whole or not at all; and silent solvers."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from evenhand.errors import BadFile, CannotWrite, argument

# Files of users: read only if they are files, and written whole or not at all.

# What is not a file, and might never end or never begin.
ENDLESS: dict[str, Callable[[int], bool]] = {
    "a pipe": stat.S_ISFIFO,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
    "a socket": stat.S_ISSOCK,
}
MAX_DEPTH = 256  # folders in each other: more are a mistake, and more than can be made at once


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """A file opened to be read, or one sentence on why not.

    Only a file has a size and an end: what else can have a name, such as a pipe, is refused. It is
    looked at once it is open, so that nothing else can take its place in between.
    """
    try:
        # Without waiting: a pipe into which nobody writes would else never open.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        raise BadFile(_why_not_read(path, error)) from None
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise BadFile(_no_file(path, mode))


def read_file(path: str | os.PathLike[str], most: int, what: str = "such a file") -> bytes:
    """All of a file that holds at most so many bytes; `what` is what it should be, in a sentence.

    Its size is looked at before anything of it is read.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise BadFile(
                f"{path} has {in_bytes(size)}, and {what} has at most {in_bytes(most)}: name "
                "another file."
            )
        try:
            return file.read(most)
        except OSError as error:
            raise BadFile(_why_not_read(path, error)) from None


def require_file(path: str | os.PathLike[str]) -> None:
    """Refuse what `open_file` would, for a file that something else is to open by its name."""
    open_file(path).close()


def in_bytes(size: int) -> str:
    """A size as a reader takes it in.

    >>> in_bytes(12), in_bytes(64 << 20), in_bytes(1500 << 20)
    ('12 bytes', '64 MB', '1.5 GB')
    """
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"


def _why_not_read(path: str | os.PathLike[str], error: OSError | ValueError) -> str:
    name = os.fspath(path)
    if not isinstance(error, OSError):
        return f"{name!r} cannot be the name of a file: check the name."
    if error.errno == errno.ELOOP:
        return f"{name} is a link that leads back to itself: name the file that is meant."
    if error.errno == errno.ENOENT and os.path.islink(path):
        return (
            f"{name} is a link to {os.readlink(path)}, which is not there: make the link anew, or "
            "name the file itself."
        )
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"there is no file {name!r}: check the name and the folder."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{name} cannot be read, as you may not: ask its owner, or copy it."
    if error.errno == errno.ENXIO:  # what a socket answers to being opened
        return f"{name} is not a file but a socket or a device: name a file."
    return f"{name} cannot be read: {error.strerror}."


def _no_file(path: str | os.PathLike[str], mode: int) -> str:
    if stat.S_ISDIR(mode):
        return f"{path} is a folder: name a file in it."
    return f"{path} is not a file but {_kind(mode)}: save what it gives to a file, and name that."


def _kind(mode: int) -> str:
    return next((kind for kind, is_kind in ENDLESS.items() if is_kind(mode)), "something else")


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there, so that no reader ever sees half of it."""
    target = Path(path)
    require_regular(target)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except (OSError, ValueError) as error:
        raise _no_folder(target, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise CannotWrite(f"{target} cannot be written: {error.strerror}.") from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def require_place(path: str | os.PathLike[str], given: str) -> None:
    """Refuse a place where no file can be written, before there is anything to lose.

    `given` is the argument that names it. A file is made there and taken away again: only so is it
    known that one can be.
    """
    target = Path(path)
    named = f"{target} ({argument(given)})"
    require_regular(target, named)
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}."):
            pass
    except (OSError, ValueError) as error:
        raise _no_folder(named, error) from None


def require_folder(path: str | os.PathLike[str], given: str) -> None:
    """The same of a folder, which need not be there yet."""
    target = Path(path)
    if len(target.parts) > MAX_DEPTH:
        raise CannotWrite(
            f"{target} ({argument(given)}) cannot be made, as it is {len(target.parts):,} folders "
            f"in each other: choose a name with at most {MAX_DEPTH}."
        )
    to_be_made: list[str] = []
    for folder in (target, *target.parents):
        if os.path.isdir(folder):
            for name in ("x", *to_be_made):  # one of these may be too long for any folder
                require_place(folder / name, given)
            return
        if os.path.lexists(folder):
            raise CannotWrite(
                f"{target} ({argument(given)}) cannot be a folder, as {folder} is not one: choose "
                "another name."
            )
        to_be_made.append(folder.name)


def require_regular(target: str | os.PathLike[str], named: str | None = None) -> None:
    """Refuse to write where something is that is not a file, such as a pipe that nobody reads."""
    named = named or os.fspath(target)
    try:
        mode = os.stat(target).st_mode
    except (OSError, ValueError):
        return  # nothing is there; and if nothing can be there, that is found out next
    if stat.S_ISDIR(mode):
        raise CannotWrite(f"{named} cannot be written, as it is a folder: name a file in it.")
    if not stat.S_ISREG(mode):
        raise CannotWrite(
            f"{named} cannot be written, as it is {_kind(mode)}: name a file, which may be a new "
            "one."
        )


def _no_folder(named: object, error: OSError | ValueError) -> CannotWrite:
    reason = error.strerror if isinstance(error, OSError) else "no file can have such a name"
    return CannotWrite(
        f"{named} cannot be written ({reason}): choose a folder that exists and that you may write "
        "to."
    )


def require_apart(written: Iterable[Path | None], read: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write over what is being read."""
    sources = [Path(path) for path in read if os.path.exists(path)]
    for target in written:
        if target is not None and os.path.exists(target) and any(map(target.samefile, sources)):
            raise CannotWrite(
                f"{target} is what is read here, and would be written over: choose another name."
            )


def _umask() -> int:
    # The only way to read it is to set it; a temporary file would else stay private.
    mask = os.umask(0)
    os.umask(mask)
    return mask


# A solver that prints where it should not.

_lock = threading.Lock()  # of what follows
_solving = 0  # how many solve now
_stdout: int | None = None  # a copy of it, while it is led elsewhere


@contextmanager
def nothing_on_stdout() -> Iterator[None]:
    """Keep what a solver prints off stdout, which may have to hold one JSON object.

    HiGHS 1.12 has a stray print that no option silences (its issue 2783). It goes nowhere, unless
    another thread could be printing meanwhile: then to stderr. Of several solvers at once the first
    leads stdout there, and the last brings it back.
    """
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    global _solving, _stdout
    with _lock:
        _solving += 1
        if _solving > 1:
            return
        with suppress(OSError):  # where there is no stdout, there is none to keep clean
            _stdout = os.dup(1)
        if _stdout is None:
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):  # where there is no stderr
            os.dup2(nowhere if threading.active_count() == 1 else 2, 1)
        os.close(nowhere)


def _end() -> None:
    global _solving, _stdout
    with _lock:
        _solving -= 1
        if _solving or _stdout is None:
            return
        os.dup2(_stdout, 1)
        os.close(_stdout)
        _stdout = None
