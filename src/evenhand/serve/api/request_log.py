"""A line of JSON about each request, written beside those who are answered.

Whoever reads the lines may be slow, and a disk that is busy lets a write wait: nobody who decides
waits for either.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Any, BinaryIO

import orjson

MOST_WAITING = 100_000  # lines; what comes on top is counted and left out


class RequestLog:
    """Where lines go.

    Args:
        stream: Such as standard error.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._left_out = stream, 0
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="request log", daemon=True)
        self._thread.start()

    def write(self, line: dict[str, Any]) -> None:
        """Add a line; it is written in a moment."""
        if self._lines.qsize() >= MOST_WAITING:
            self._left_out += 1
        else:
            self._lines.put({"time": time.time(), **line})

    def close(self) -> None:
        """Write what is left, and end."""
        self._lines.put(None)
        self._thread.join()

    def _work(self) -> None:
        over = False
        while not over:
            lines = [self._lines.get()]
            while not self._lines.empty():
                lines.append(self._lines.get())
            over = None in lines
            if self._left_out:
                missing, self._left_out = self._left_out, 0
                lines.append({"time": time.time(), "left_out": missing})
            text = b"".join(orjson.dumps(line) + b"\n" for line in lines if line is not None)
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # nobody reads it any more, which stops nothing
                continue
