"""Who is signed in at the page: a cookie that only this process can make, and that ends.

The cookie does not hold the token: cookies of one host go to all of its ports, so whatever else
runs on the machine may see it. It ends with the process, after some hours, and with its token.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import Any

from itsdangerous import BadData, Signer, URLSafeTimedSerializer

from evenhand.serve.store.decision_store import StoredToken

LASTS = 12 * 3600  # seconds
COOKIE_TEXT = re.compile(r"[A-Za-z0-9_.-]+")  # of which each cookie is written in one way alone
# A signature of 48 bytes fills its letters, so that no other letters stand for the same.
SIGNED: dict[str, Any] = {"digest_method": hashlib.sha384, "key_derivation": "hmac"}


class Sessions:
    """Cookies, made and read.

    Args:
        key: What they are signed with; a new secret by default.
    """

    def __init__(self, key: bytes | None = None) -> None:
        key = secrets.token_bytes(32) if key is None else key
        self._cookies = URLSafeTimedSerializer(key, "session", signer_kwargs=SIGNED)
        self._tokens = Signer(key, "token", **SIGNED)
        self._forms = Signer(key, "form", **SIGNED)

    def begin(self, token: StoredToken) -> str:
        """The cookie of somebody who has shown a token."""
        seal = self._tokens.get_signature(token.hash).decode()
        cookie = self._cookies.dumps([token.name, secrets.token_urlsafe(16), seal])
        return cookie if isinstance(cookie, str) else cookie.decode()

    def visitor(self, cookie: str, tokens: Iterable[StoredToken]) -> StoredToken | None:
        """Whose cookie it is: nobody's if it is not ours, is over, or its token was taken back."""
        if not COOKIE_TEXT.fullmatch(cookie):
            return None
        try:
            name, _, seal = self._cookies.loads(cookie, max_age=LASTS)
        except BadData:
            return None
        token = next((one for one in tokens if one.name == name), None)
        is_own = token is not None and self._tokens.verify_signature(token.hash, seal)
        return token if is_own else None

    def form_mark(self, cookie: str) -> str:
        """What every form of a session carries, so that no other site can send one."""
        return self._forms.get_signature(cookie).decode()
