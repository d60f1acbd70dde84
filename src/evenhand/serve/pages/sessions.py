"""Who is signed in at the page: a cookie that only this process can make, and that ends.

The cookie does not hold the token: cookies of one host go to all of its ports, so whatever else
runs on the machine may see it. It ends with the process, after some hours, and with its token.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable

from evenhand.serve.store.decision_store import StoredToken

LASTS = 12 * 3600  # seconds


class Sessions:
    """Cookies, made and read.

    Args:
        key: What they are signed with; a new secret by default.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = secrets.token_bytes(32) if key is None else key

    def begin(self, token: StoredToken, now: float | None = None) -> str:
        """The cookie of somebody who has shown a token."""
        ends = int((time.time() if now is None else now) + LASTS)
        name = base64.urlsafe_b64encode(token.name.encode()).decode()
        signed = f"{name}.{ends}.{secrets.token_urlsafe(16)}"
        return f"{signed}.{self._seal('session', signed, token.hash)}"

    def visitor(
        self, cookie: str, tokens: Iterable[StoredToken], now: float | None = None
    ) -> StoredToken | None:
        """Whose cookie it is: nobody's if it is not ours, is over, or its token was taken back."""
        signed, _, seal = cookie.rpartition(".")
        parts = signed.split(".")
        if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdigit()):
            return None
        try:
            name = base64.urlsafe_b64decode(parts[0]).decode()
        except (binascii.Error, ValueError):
            return None
        token = next((one for one in tokens if one.name == name), None)
        if token is None or not hmac.compare_digest(
            self._seal("session", signed, token.hash).encode(), seal.encode()
        ):
            return None
        is_over = int(parts[1]) <= (time.time() if now is None else now)
        return None if is_over else token

    def form_mark(self, cookie: str) -> str:
        """What every form of a session carries, so that no other site can send one."""
        return self._seal("form", cookie, b"")

    def _seal(self, use: str, text: str, token_hash: bytes) -> str:
        content = use.encode() + b"\0" + token_hash + b"\0" + text.encode()
        return hmac.new(self._key, content, hashlib.sha256).hexdigest()
