"""What was met in a log and is not an error: counted, said in words, never lost."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Notes:
    """Sentences for the reader, in the order in which they were found."""

    sentences: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)  # those that the reader should answer

    def copy(self) -> Notes:
        """As many sentences, to which others may be added."""
        return Notes(list(self.sentences), list(self.questions))

    def add(self, sentence: str) -> None:
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def ask(self, sentence: str) -> None:
        """A note that is a question: it is shown first, since the answer may change everything."""
        self.questions.append(sentence)
        self.add(sentence)
