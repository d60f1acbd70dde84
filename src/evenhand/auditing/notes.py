"""What was met in a log and is not an error: counted, said in words, never lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Notes:
    """Sentences for the reader, in the order in which they were found."""

    sentences: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)  # those that the reader should answer

    def add(self, sentence: str) -> None:
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def ask(self, sentence: str) -> None:
        """A note that is a question: it is shown first, since the answer may change everything."""
        self.questions.append(sentence)
        self.add(sentence)


def several(count: int, one: str, many: str | None = None) -> str:
    """Such as "1 row", "1,204 rows"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Such as "A, B and C", or the first few and how many more."""
    names = [str(name) for name in names]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def equals(names: Sequence[str]) -> str:
    """Those who share a place: "A", "A and B", "A, B and C", "A, B and 2 others".

    >>> equals(["A", "B"]), equals(["A", "B", "C", "D"]), equals([])
    ('A and B', 'A, B and 2 others', 'nobody')
    """
    if len(names) > 3:
        return f"{names[0]}, {names[1]} and {len(names) - 2:,} others"
    return listed(names) or "nobody"
