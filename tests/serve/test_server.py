"""The service on a socket: where it listens, and how it stops."""

from __future__ import annotations

import signal

import pytest

from evenhand.errors import BadParameter, CannotConnect
from evenhand.serve.server import Listening
from serving import Process, small_service


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


def test_ctrl_c_stops_it_cleanly(tmp_path):
    with small_service(tmp_path):
        pass
    service = Process(tmp_path / "decisions.db")
    service.process.send_signal(signal.SIGINT)
    assert service.process.wait() == 0
    service.process.stdout.close()
