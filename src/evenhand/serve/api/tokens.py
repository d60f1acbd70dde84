"""Who may ask: secret tokens with a role, of which the store keeps nothing but a hash."""

from __future__ import annotations

import enum
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Iterable

from evenhand.errors import BadParameter, argument
from evenhand.serve.store.decision_store import DecisionStore, StoredToken

PREFIX = "evh_"  # so that a token that was published by mistake is known for what it is
NAME = re.compile(r"[^\x00-\x1f\x7f]{1,64}")


class Role(enum.IntEnum):
    """What somebody may do; each may also do what those before it may."""

    READER = 1  # ask, and see everything
    DECIDER = 2  # take decisions, undo them, pause and resume
    OWNER = 3  # make pools, let people join and leave, hand out tokens

    @property
    def word(self) -> str:
        return self.name.lower()

    @staticmethod
    def read(word: str) -> Role:
        """A role by its name."""
        try:
            return Role[word.upper()]
        except KeyError:
            names = ", ".join(role.word for role in Role)
            raise BadParameter(
                f"{argument('role')} is {word!r}: it must be one of {names}."
            ) from None


def make_token(store: DecisionStore, name: str, role: Role) -> str:
    """A new token: its secret, which is shown this once and can never be read again."""
    if not NAME.fullmatch(name):
        raise BadParameter(f"a token cannot be called {name!r}: use 1 to 64 visible characters.")
    if any(token.name == name for token in store.tokens()):
        raise BadParameter(f"there is a token {name!r} already: choose another name.")
    secret = PREFIX + secrets.token_urlsafe(32)
    store.add_token(StoredToken(name, role.word, hash_of(secret), time.time_ns() // 1000))
    return secret


def hash_of(secret: str) -> bytes:
    """What the store keeps. A secret of 256 random bits needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def find_token(tokens: Iterable[StoredToken], secret: str) -> StoredToken | None:
    """Whose secret it is; the time this takes says nothing about how near a guess was."""
    given, found = hash_of(secret), None
    for token in tokens:
        if hmac.compare_digest(token.hash, given):
            found = token
    return found
