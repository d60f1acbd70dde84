"""Files packed with gzip: read through once before anything else is, so that a file that is cut
short, damaged, or made to fill the disk is met here."""

from __future__ import annotations

import gzip
import os
import zlib
from typing import BinaryIO, cast

from evenhand._util.files import in_bytes, open_file
from evenhand.errors import BadFile

# A log is packed to a tenth or a fiftieth. What unpacks to this many times its size, and to more
# than a log of some million rows, was made to do so.
MOST_TIMES = 200
ALWAYS_FINE = 1 << 28  # bytes
CHUNK = 1 << 20


def is_packed(path: str) -> bool:
    """Whether a file is packed with gzip, by the end of its name."""
    return path.lower().endswith(".gz")


def open_unpacked(path: str) -> BinaryIO:
    """The bytes of a file, unpacked if it is packed."""
    return cast(BinaryIO, gzip.open(path, "rb")) if is_packed(path) else open_file(path)


def require_gzip(path: str) -> None:
    """Refuse what is not gzip, is damaged, or grows beyond all measure; a chunk is held at a time.

    What the file itself says of its size is not believed.
    """
    with open_file(path) as packed:
        size, unpacked = os.fstat(packed.fileno()).st_size, 0
        most = max(ALWAYS_FINE, MOST_TIMES * size)
        try:
            with gzip.GzipFile(fileobj=packed) as file:
                while chunk := file.read(CHUNK):
                    unpacked += len(chunk)
                    if unpacked > most:
                        raise BadFile(
                            f"{path} has {in_bytes(size)} and unpacks to more than "
                            f"{in_bytes(most)}: if you trust it, unpack it with gunzip and name "
                            "the file that comes out."
                        )
        except EOFError:
            raise BadFile(
                f"{path} ends in the middle: it was cut short, so copy or download it again."
            ) from None
        except (OSError, zlib.error):
            if not unpacked and not _begins_as_gzip(path):
                raise BadFile(
                    f"{path} is not packed with gzip, though its name ends in .gz: name it by what "
                    "it is, such as log.csv."
                ) from None
            raise BadFile(f"{path} is damaged: copy or download it again.") from None


def _begins_as_gzip(path: str) -> bool:
    with open_file(path) as file:
        return file.read(2) == b"\x1f\x8b"
