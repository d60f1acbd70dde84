"""Files that people send and that operators name: what kind they are, and policies of a folder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.decide.rules.built_in import policy_rule
from evenhand.decide.rules.rule import Rule
from evenhand.errors import BadParameter, EvenhandError, argument

# What kind of file a log is that somebody sends, by what is in it: names are not to be trusted.

XLS = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ZIPPED, OPEN_DOCUMENT = b"PK\x03\x04", b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"


def suffix_of(content: bytes) -> str:
    """How the name of a file with such content ends, so that an audit reads it for what it is.

    >>> suffix_of(b"name,date"), suffix_of(b"PAR1..."), suffix_of(b' {"name": "Ann"}')
    ('.csv', '.parquet', '.jsonl')
    """
    if content.startswith(ZIPPED):
        return ".ods" if OPEN_DOCUMENT in content[:200] else ".xlsx"
    if content.startswith(XLS):
        return ".xls"
    if content.startswith(b"PAR1"):
        return ".parquet"
    if content.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    return ".jsonl" if content.lstrip()[:1] == b"{" else ".csv"


@contextlib.contextmanager
def called(name: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors about a file of ours call it by a name, and not by a place that nobody else knows."""
    try:
        yield
    except EvenhandError as error:
        error.args = (str(error).replace(os.fspath(path), name), *error.args[1:])
        raise


# Learned and planned policies as rules of pools: files of one folder, which the operator names.
#
# Whoever asks over the network chooses among the names of these files, and never a path. The log of
# a pool keeps the digest of its file: with another one the same log would mean something else.

FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\.(?:policy|plan)")
KIND = "policy"  # what the table of such a rule is called


def names_policy(rule: Any) -> bool:
    """Whether what a pool says of its rule is the file of a policy or a plan."""
    if isinstance(rule, Mapping):
        return rule.get("name") == KIND
    return isinstance(rule, str) and rule.endswith((".policy", ".plan"))


@dataclass(frozen=True, eq=False)
class PolicyFolder:
    """The folder, if there is one.

    Args:
        folder: Where the files are that `evenhand train --out` and `evenhand plan --save` wrote.
    """

    folder: Path | None = None
    _known: dict[tuple[str, str], Rule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.folder is not None and not self.folder.is_dir():
            raise BadParameter(
                f"{argument('policies')} is {str(self.folder)!r}: it must be a folder, with files "
                "of policies or plans."
            )

    def names(self) -> list[str]:
        """The files that there are."""
        if self.folder is None:
            return []
        found = (path.name for path in self.folder.iterdir() if path.is_file())
        return sorted(name for name in found if FILE.fullmatch(name))

    def rule(self, said: str | Mapping[str, Any]) -> Rule:
        """The policy of a file as a rule."""
        table = self.table(said)
        place = table["file"], table["digest"]
        if place not in self._known:
            self._known[place] = self._read(table["file"])
        return self._known[place]

    def table(self, said: str | Mapping[str, Any]) -> dict[str, str]:
        """What the log keeps of the rule: the file's name and its digest.

        Args:
            said: The name of the file; or what the log kept, of which the digest must be the same.
        """
        wanted = {"file": said} if isinstance(said, str) else said
        name, digest = wanted.get("file"), wanted.get("digest")
        if not isinstance(name, str) or not FILE.fullmatch(name):
            raise BadParameter(
                f"{argument('rule')} is the file {name!r}: give the name of a .policy or .plan "
                "file without its folder."
            )
        if self.folder is None:
            raise BadParameter(
                f"{name} cannot decide here: serve with a folder of policies ("
                f"{argument('policies')}) in which it is, or choose another rule."
            )
        found = self._digest(name)
        if digest is not None and digest != found:
            raise BadParameter(
                f"{name} is not the file with which the pool was made, and would decide otherwise "
                f"on the same log: put the file back whose SHA-256 is {digest}, or make a new pool."
            )
        return {"name": KIND, "file": name, "digest": found}

    def _digest(self, name: str) -> str:
        assert self.folder is not None
        path = self.folder / name
        if not path.is_file():
            there = ", ".join(self.names()[:5]) or "none"
            raise BadParameter(
                f"there is no {name} in the folder of policies: choose one that is there "
                f"({there}), or another rule."
            )
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _read(self, name: str) -> Rule:
        assert self.folder is not None
        path = self.folder / name
        with called(name, path):  # where the folder is concerns nobody who asks
            return policy_rule(path)


NO_POLICIES = PolicyFolder()
