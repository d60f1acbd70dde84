"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from evenhand.errors import CannotWrite


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there, so that no reader ever sees half of it."""
    target = Path(path)
    if os.path.isdir(target):  # unlike Path's own, it takes a name of any length
        raise CannotWrite(f"{target} cannot be written, as it is a folder: name a file in it.")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise CannotWrite(
            f"{target} cannot be written ({error.strerror}): choose a folder that exists and that "
            "you may write to."
        ) from None
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
