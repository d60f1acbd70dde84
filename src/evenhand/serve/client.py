"""A client of `evenhand serve` that needs nothing but Python. What is not answered is tried again.

Every change carries an idempotency key, so that trying again never does anything twice.
"""

from __future__ import annotations

import http.client
import json
import time
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from evenhand.errors import BadParameter, CannotConnect, EvenhandError

ATTEMPTS = 5
FIRST_WAIT = 0.2  # seconds before it is tried again; twice as long each time
# Too many requests, and what a service or a proxy in front of it answers that cannot do its work
# at the moment.
TRIED_AGAIN = (429, 502, 503, 504)


class Refused(EvenhandError):
    """What was refused; `status` is that of HTTP, `problem` what the service said."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(str(problem.get("detail", f"the service answered {status}.")))
        self.status, self.problem = status, problem


class DecisionClient:
    """Somebody who asks a service who is next.

    Args:
        address: Where it listens, such as http://127.0.0.1:8321.
        token: The secret.
        timeout: Seconds to wait for an answer.
    """

    def __init__(self, address: str, token: str, timeout: float = 30.0) -> None:
        parts = urlsplit(address)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        if parts.scheme not in kinds or parts.hostname is None:
            raise BadParameter(f"{address!r} is not an address such as http://127.0.0.1:8321.")
        self._address = address
        self._connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=timeout)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def make_pool(self, pool: str, stakeholders: Sequence[str] = (), **definition: Any) -> Any:
        """A new pool: its rule and who is there."""
        people = [{"name": name} for name in stakeholders]
        return self.post("/v1/pools", {"name": pool, "stakeholders": people, **definition})

    def next(self, pool: str, **asked: Any) -> Any:
        """Who is next, and why; nothing changes."""
        return self.get(f"/v1/pools/{quote(pool)}/next", **asked)

    def take(self, pool: str, key: str | None = None, **wish: Any) -> Any:
        """Take the decision of the rule, or another one with `shares` and a `reason`."""
        return self.post(f"/v1/pools/{quote(pool)}/decisions", wish, key)

    def undo(self, pool: str, number: int, reason: str | None = None) -> Any:
        """Let a decision count as not taken."""
        return self.post(f"/v1/pools/{quote(pool)}/decisions/{number}/undo", {"reason": reason})

    def happen(self, pool: str, event: str, name: str, **more: Any) -> Any:
        """Let somebody join, leave, pause, resume, ask, or be entitled to another amount."""
        return self.post(f"/v1/pools/{quote(pool)}/events", {"event": event, "name": name, **more})

    def why(self, pool: str, name: str, **asked: Any) -> Any:
        """Why somebody is next now, or why not."""
        return self.get(f"/v1/pools/{quote(pool)}/why", name=name, **asked)

    def state(self, pool: str, **asked: Any) -> Any:
        """Where everybody stands, whoever is next first."""
        return self.get(f"/v1/pools/{quote(pool)}/state", **asked)

    def get(self, path: str, **query: Any) -> Any:
        """Ask for anything; lists are repeated."""
        asked = urlencode(query, doseq=True)
        return self._ask("GET", f"{path}?{asked}" if asked else path, None, {})

    def post(self, path: str, body: Any, key: str | None = None) -> Any:
        """Change anything; a key of one's own makes also a later retry harmless."""
        headers = {"idempotency-key": key or str(uuid.uuid4())}
        return self._ask("POST", path, json.dumps(body).encode(), headers)

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Any:
        refused: Refused | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(FIRST_WAIT * 2 ** (attempt - 1))
            try:
                self._connection.request(method, path, body, {**self._headers, **headers})
                answer = self._connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self._connection.close()
                refused = None
                continue
            if answer.status < 400:
                is_json = answer.headers.get_content_type() == "application/json"
                return json.loads(content) if is_json else content
            refused = Refused(answer.status, self._problem(answer.status, content))
            if answer.status not in TRIED_AGAIN:
                raise refused
        if refused is not None:
            raise refused
        raise CannotConnect(f"{self._address} does not answer: check that the service runs.")

    def _problem(self, status: int, content: bytes) -> dict[str, Any]:
        """What the service said; a proxy in front of it may say something else."""
        try:
            found = json.loads(content)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        sentence = (
            f"{self._address} answered {status}, and not as evenhand does: check the address, and "
            "the proxy in front of the service."
        )
        return {"status": status, "detail": sentence}

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> DecisionClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
