"""The service on a socket: where it listens, and how it stops."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess

import pytest

import pages
from evenhand.errors import BadParameter, CannotConnect
from evenhand.serve.server import Listening
from places import ROOT
from serving import Process


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_may_be_listened_at(host):
    assert Listening(host, 0).host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_other_addresses_only_if_that_is_said(host):
    with pytest.raises(BadParameter, match="other machines"):
        Listening(host, 0)
    assert Listening(host, 0, everywhere=True).host == host


def test_a_port_that_is_taken_or_none():
    bound = Listening(port=0).bind()
    with pytest.raises(CannotConnect, match="choose another"):
        Listening(port=bound.getsockname()[1]).bind()
    bound.close()
    with pytest.raises(BadParameter, match="65535"):
        Listening(port=70_000)


@pytest.mark.system
def test_the_documented_commands_work_and_ctrl_c_stops_it_cleanly(tmp_path):
    """Five minutes with curl, as docs/serve.md has them."""
    service = Process(tmp_path / "decisions.db")
    if shutil.which("curl"):
        (tmp_path / "shifts.csv").write_text("name,date\nAnn,2026-01-01\nBen,2026-01-02\n")
        said = [
            one.text for one in pages.blocks(ROOT / "docs" / "serve.md") if one.language == "sh"
        ]
        known = {"SERVICE": service.address, "TOKEN": service.secret, "PATH": os.environ["PATH"]}
        script = "set -e\n" + "\n".join(said)
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=known, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert '"reason":"wrote the parser"' in done.stdout
        assert '"decisions":2,"stakeholders":2' in done.stdout
    service.process.send_signal(signal.SIGINT)
    assert service.process.wait() == 0
    service.process.stdout.close()


def test_small_answers_are_sent_at_once():
    """The event loop lets sockets send at once that are TCP by number, and no others."""

    async def accepted() -> int:
        met = asyncio.get_running_loop().create_future()

        def note(_: object, writer: asyncio.StreamWriter) -> None:
            of = writer.get_extra_info("socket")
            met.set_result(of.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        bound = Listening(port=0).bind()
        async with await asyncio.start_server(note, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            writer.close()
            return await met

    assert asyncio.run(accepted()) != 0
