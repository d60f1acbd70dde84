"""One try: a command line, the files it names, and what its terminal is like."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class Content(Protocol):
    """What a file holds, made when it is needed."""

    def content(self) -> bytes: ...

    def smaller(self) -> list[Content]: ...


@dataclass(frozen=True)
class Plain:
    """A file of bytes."""

    data: bytes

    def content(self) -> bytes:
        return self.data

    def smaller(self) -> list[Content]:
        half = len(self.data) // 2
        return [Plain(self.data[:half]), Plain(self.data[half:])] if half else []


SECRET = "NotForReports7391"  # what stands in files that no command names

# Names that stand for something else than a file, made only where a command names them.
SPECIAL: dict[str, Callable[[Path], object]] = {
    "folder": lambda path: path.mkdir(),
    "fifo": lambda path: os.mkfifo(path),
    "fifo.csv": lambda path: os.mkfifo(path),
    "dangling.csv": lambda path: path.symlink_to("nothing.csv"),
    "loop.csv": lambda path: path.symlink_to("loop.csv"),
    "unreadable.csv": lambda path: (path.write_text("who,day\nA,1\n"), path.chmod(0)),
    "folder.csv": lambda path: path.mkdir(),
    "device-zero": lambda path: path.symlink_to("/dev/zero"),
    "device-full": lambda path: path.symlink_to("/dev/full"),
    "device-null": lambda path: path.symlink_to("/dev/null"),
}


@dataclass(frozen=True)
class Trial:
    verb: str
    arguments: tuple[str, ...]
    files: dict[str, Content] = field(default_factory=dict)
    stdin: bytes | None = b""  # None if it is closed
    encoding: str = "utf-8"  # of the terminal
    full: bool = False  # standard output is a device that is full

    def lay_out(self, folder: Path) -> None:
        """Make the files that the command names."""
        (folder / "secret.txt").write_text(SECRET)
        (folder / ".secret.csv").write_text(f"who,day,much\n{SECRET},1,1\n")
        said = " ".join(self.arguments)
        for name, make in SPECIAL.items():
            if name in said:
                make(folder / name)
        for name, file in self.files.items():
            (folder / name).write_bytes(file.content())

    def given(self) -> bytes:
        """All that the user gave, to tell what is repeated from what is computed."""
        # As it was written and as it lies there, which may be packed.
        files = b" ".join(
            part for file in self.files.values() for part in (repr(file).encode(), file.content())
        )
        words = " ".join(self.arguments).encode(errors="surrogateescape")
        return b" ".join([words, self.stdin or b"", files])

    def smaller(self) -> list[Trial]:
        """The same with something left out."""
        found = []
        for k in range(len(self.arguments)):
            for width in (2, 1):
                left = self.arguments[:k] + self.arguments[k + width :]
                found.append(self._with(arguments=left))
        for name, file in self.files.items():
            found += [self._with(files={**self.files, name: one}) for one in file.smaller()]
        if self.stdin:
            found += [self._with(stdin=one.content()) for one in Plain(self.stdin).smaller()]
        if self.encoding != "utf-8":
            found.append(self._with(encoding="utf-8"))
        return found

    def _with(self, **changed: object) -> Trial:
        trial = Trial(**{**vars(self), **changed})  # type: ignore[arg-type]
        said = " ".join(trial.arguments)
        kept = {name: file for name, file in trial.files.items() if name in said}
        return Trial(**{**vars(trial), "files": kept})

    def size(self) -> int:
        return len(repr(self))

    def describe(self) -> str:
        """What to type to see it again."""
        words = [_short(shlex.quote(part)) for part in ("evenhand", *self.arguments)]
        lines = [" ".join(words).encode("utf-8", "backslashreplace").decode()]
        lines += [f"  {name}: {_short(repr(file), 600)}" for name, file in self.files.items()]
        if self.stdin != b"":
            lines.append(f"  standard input: {_short(repr(self.stdin), 300)}")
        if self.encoding != "utf-8" or self.full:
            lines.append(f"  standard output: {self.encoding}{', full' if self.full else ''}")
        return "\n".join(lines)


def _short(text: str, longest: int = 120) -> str:
    if len(text) <= longest:
        return text
    return f"{text[: longest // 2]}…({len(text):,} characters)…{text[-longest // 4 :]}"
