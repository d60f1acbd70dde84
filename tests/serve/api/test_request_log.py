"""Lines about requests: all of them, in order, and nobody waits for whoever reads them."""

from __future__ import annotations

import io
import json
import threading

from evenhand.serve.api import request_log
from evenhand.serve.api.request_log import RequestLog
from waiting import wait_until


class SlowReader(io.BytesIO):
    """A stream whose writes wait until they are let."""

    def __init__(self):
        super().__init__()
        self.let, self.asked = threading.Event(), threading.Event()

    def write(self, text):
        self.asked.set()
        self.let.wait()
        return super().write(text)


def numbers(stream):
    return [json.loads(line).get("number") for line in stream.getvalue().splitlines()]


def test_lines_are_written_in_order_and_none_is_left_when_it_is_closed():
    stream = io.BytesIO()
    log = RequestLog(stream)
    for number in range(1000):
        log.write({"number": number})
    log.close()
    assert numbers(stream) == list(range(1000))
    assert all(json.loads(line)["time"] > 0 for line in stream.getvalue().splitlines())


def test_whoever_writes_does_not_wait_and_what_is_too_much_is_counted(monkeypatch):
    monkeypatch.setattr(request_log, "MOST_WAITING", 5)
    stream = SlowReader()
    log = RequestLog(stream)
    log.write({"number": 0})
    assert wait_until(stream.asked.is_set)
    for number in range(1, 9):
        log.write({"number": number})  # which would wait for ever otherwise
    stream.let.set()
    log.close()
    assert numbers(stream)[:6] == [0, 1, 2, 3, 4, 5]
    assert json.loads(stream.getvalue().splitlines()[-1])["left_out"] == 3


def test_a_stream_that_is_gone_stops_nothing():
    stream = io.BytesIO()
    log = RequestLog(stream)
    stream.close()
    log.write({"number": 1})
    log.close()
