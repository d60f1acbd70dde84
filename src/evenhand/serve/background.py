"""A service in this process, in the background: for notebooks, scripts and tests."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from evenhand._util.registry import require_packages
from evenhand.errors import CannotConnect
from evenhand.serve.client import DecisionClient


@contextlib.contextmanager
def background_service(store: str | None = None) -> Iterator[DecisionClient]:
    """An owner's client of a service that runs meanwhile, on loopback, at a free port.

    Args:
        store: Where decisions are kept, as for `evenhand serve`; a temporary file by default.
    """
    require_packages("fastapi", "uvicorn")
    import uvicorn

    from evenhand.serve.api.application import make_application
    from evenhand.serve.api.tokens import Role, make_token
    from evenhand.serve.server import Listening, address_of
    from evenhand.serve.store.open_store import open_store

    with contextlib.ExitStack() as stack:
        if store is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="evenhand-"))
            store = str(Path(folder) / "decisions.db")
        opened = open_store(store)
        stack.callback(opened.close)
        name = f"background {len(opened.tokens()) + 1}"
        secret = make_token(opened, name, Role.OWNER)
        stack.callback(opened.drop_token, name)
        bound = stack.enter_context(Listening(port=0).bind())
        gate = make_application(opened)
        server = uvicorn.Server(uvicorn.Config(gate, log_config=None, lifespan="on"))
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        address = address_of(bound)
        thread.start()
        client = DecisionClient(address, secret)
        try:
            while not server.started:
                if not thread.is_alive():
                    raise CannotConnect("the service could not start in the background.")
                thread.join(0.01)
            yield client
        finally:
            client.close()
            gate.hang_up()
            server.should_exit = True
            thread.join()
