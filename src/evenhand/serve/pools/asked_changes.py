"""A change that somebody asks for, perhaps again: a retry with one key gets the same answer."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson

from evenhand.errors import BadParameter
from evenhand.serve.store.decision_store import DecisionStore, KeptAnswer

LONGEST_KEY = 200  # characters of an idempotency key
Answer = dict[str, Any]  # what JSON has of it, which is kept for a retry


@dataclass(frozen=True)
class AskedChange:
    """Who asks for a change, and the key by which a retry is known.

    Args:
        actor: The name of the token.
        key: The idempotency key, if there is one.
        content: What was asked for, to refuse a key that is used for something else.
    """

    actor: str
    key: str | None = None
    content: bytes = b""

    def __post_init__(self) -> None:
        key = self.key
        if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isprintable()):
            raise BadParameter(
                f"an idempotency key has 1 to {LONGEST_KEY} visible characters: such as a UUID."
            )

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.content).digest()

    def kept(self, pool: str, answer: Answer) -> KeptAnswer | None:
        """The answer as it is kept for a retry, if there may be one."""
        if self.key is None:
            return None
        return KeptAnswer(pool, self.actor, self.key, self.digest, orjson.dumps(answer))

    def same(self, kept: KeptAnswer) -> Answer:
        """The answer that was given before; refused if it was given to another request."""
        if kept.request != self.digest:
            raise BadParameter(
                f"the idempotency key {self.key!r} was used for another request: use a new key for "
                "each, and the same one to try again."
            )
        answer: Answer = orjson.loads(kept.answer)
        return answer


class AnswersOnce:
    """Whatever is asked again and again, at once or later, happens once.

    Args:
        store: Where the answers are kept.
    """

    def __init__(self, store: DecisionStore) -> None:
        self._store = store
        self._answering: dict[tuple[str, str, str], asyncio.Future[None]] = {}

    async def answer(
        self, pool: str, asked: AskedChange, carry_out: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """The answer of before, or that of carrying it out now."""
        if asked.key is None:
            return await carry_out()
        place = (pool, asked.actor, asked.key)
        while place in self._answering:  # the same request is being answered at this moment
            await asyncio.shield(self._answering[place])
        over = self._answering[place] = asyncio.get_running_loop().create_future()
        try:
            return await self.before(pool, asked) or await carry_out()
        finally:
            del self._answering[place]
            over.set_result(None)

    async def before(self, pool: str, asked: AskedChange) -> Answer | None:
        """The answer that the store keeps, if there is one."""
        kept = await asyncio.to_thread(self._store.kept_answer, pool, asked.actor, asked.key or "")
        return None if kept is None else asked.same(kept)
