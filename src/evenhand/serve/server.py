"""The service on a socket or in the background: started, announced, and stopped cleanly."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand._util.registry import require_packages
from evenhand.errors import BadParameter, CannotConnect, argument
from evenhand.serve.api.middleware import Gate
from evenhand.serve.client import DecisionClient

# The service on a socket: started, announced, and stopped cleanly.

# Seconds that a thread may go on while another waits for its turn: an audit or an import beside
# them must not delay those who decide.
SWITCH_AFTER = 0.0005
STOP_WITHIN = 10  # seconds for requests that are being answered when it is told to stop


@dataclass(frozen=True)
class Listening:
    """Where the service listens.

    Args:
        host: The address of a network interface; loopback by default.
        port: The port; 0 takes a free one.
        everywhere: Whether another address than loopback is really meant.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    everywhere: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise BadParameter(f"{argument('port')} is {self.port}: it must be 0 to 65535.")
        if not self.everywhere and not _is_loopback(self.host):
            raise BadParameter(
                f"{argument('host')} {self.host} can be reached by other machines, and tokens "
                f"would travel unencrypted: put a proxy with TLS in front, and say "
                f"{argument('everywhere')} if that is meant."
            )

    def bind(self) -> socket.socket:
        """A socket at that address."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # TCP by its number: the event loop sends what is written at once only where it is named,
        # and small answers would otherwise wait 40 ms for the other side to confirm the last part.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((self.host, self.port))
            bound.listen(2048)
        except (OSError, OverflowError) as error:
            bound.close()
            reason = getattr(error, "strerror", None) or str(error)
            raise CannotConnect(
                f"{self.host}:{self.port} cannot be listened at ({reason}): choose another with "
                f"{argument('port')} or {argument('host')}."
            ) from None
        return bound


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def run_server(gate: Gate, bound: socket.socket, started: Callable[[str], None]) -> None:
    """Answer until SIGTERM or Ctrl-C; then let requests end, write everything, and return.

    Args:
        gate: The application.
        bound: Where to listen.
        started: Told the address once requests are answered.
    """
    import uvicorn

    class Announced(uvicorn.Server):
        told = False  # to stop

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                # What is loaded stays: to look through it for garbage again and again takes long.
                gc.freeze()
                gc.enable()
                started(address_of(bound))

        def handle_exit(self, sig: int, frame: Any) -> None:
            gate.hang_up()  # a stream would never end by itself
            self.force_exit = self.told and sig == signal.SIGINT  # pressed twice
            self.told = self.should_exit = True

    config = uvicorn.Config(
        gate,
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=STOP_WITHIN,
        timeout_keep_alive=30,
    )
    server = Announced(config)
    _run(server, bound)
    if gate.failure is not None:
        raise gate.failure
    if not server.started:
        raise CannotConnect("the service could not start: the lines above say why.")


def _run(server: Any, bound: socket.socket) -> None:
    gc.disable()  # until everything is loaded
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_AFTER)
    try:
        server.run([bound])
    except SystemExit:  # it could not start
        pass
    finally:
        gc.enable()
        gc.unfreeze()  # or what reading a log left behind of DuckDB would complain at the end
        sys.setswitchinterval(usual)
        bound.close()


def address_of(bound: socket.socket) -> str:
    """The address of a socket as a browser takes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# A service in this process, in the background: for notebooks, scripts and tests.


@contextlib.contextmanager
def background_service(store: str | None = None) -> Iterator[DecisionClient]:
    """An owner's client of a service that runs meanwhile, on loopback, at a free port.

    Args:
        store: Where decisions are kept, as for `evenhand serve`; a temporary file by default.
    """
    require_packages("fastapi", "uvicorn")
    import uvicorn

    from evenhand.serve.api.application import make_application
    from evenhand.serve.api.middleware import Role, make_token
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
