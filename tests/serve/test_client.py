"""The client: what it asks is answered, what is refused is an error, what fails is tried again."""

from __future__ import annotations

import contextlib
import http.server
import threading

import pytest

from evenhand.errors import BadParameter, CannotConnect
from evenhand.serve import client as module
from evenhand.serve.client import DecisionClient, Refused
from evenhand.serve.server import background_service


def test_all_that_it_can_ask(tmp_path):
    with background_service(str(tmp_path / "decisions.db")) as evenhand:
        evenhand.make_pool("p", ["Ann", "Ben"], dates=False)
        turn = evenhand.next("p", without=["Ann"])["turn"]
        assert evenhand.take("p", turn=turn)["shares"][0]["name"] == "Ann"
        with pytest.raises(Refused, match="is over") as refused:
            evenhand.take("p", turn=turn)
        assert (refused.value.status, refused.value.problem["error"]) == (409, "stale-turn")
        first = evenhand.take("p", key="mine")
        assert evenhand.take("p", key="mine") == first
        made = {"name": "q", "dates": False}
        again = evenhand.post("/v1/pools", made, "also mine")
        assert evenhand.post("/v1/pools", made, "also mine") == again
        with pytest.raises(Refused, match="there is a pool 'q' already"):
            evenhand.post("/v1/pools", made)
        evenhand.undo("p", first["number"], "a slip")
        evenhand.happen("p", "pause", "Ann")
        assert evenhand.why("p", "Ann")["rank"] is None
        assert [one["name"] for one in evenhand.state("p")["stakeholders"]] == ["Ben", "Ann"]
        assert evenhand.get("/v1/pools/p/export.csv").startswith(b"time,stakeholder,amount")
    with background_service(str(tmp_path / "decisions.db")) as evenhand:  # it was kept
        assert evenhand.get("/v1/pools/p")["decisions"] == 1
        tokens = [token["name"] for token in evenhand.get("/v1/tokens")["tokens"]]
        assert tokens == ["background 1"]  # that of the time before was taken back


def test_what_is_not_answered_is_tried_again_and_given_up_in_the_end(monkeypatch):
    waits = []
    monkeypatch.setattr(module.time, "sleep", waits.append)
    nobody = DecisionClient("http://127.0.0.1:9", "evh_x")
    with pytest.raises(CannotConnect, match="does not answer"):
        nobody.get("/v1/pools")
    assert waits == [0.2, 0.4, 0.8, 1.6]
    with pytest.raises(BadParameter, match="not an address"):
        DecisionClient("ftp://here", "evh_x")


@contextlib.contextmanager
def proxy(*answers):
    """Something that answers these, one after the other, and counts how many it gave."""
    left, asked = list(answers), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            status, kind, content = left.pop(0)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with DecisionClient(f"http://127.0.0.1:{server.server_port}", "evh_x") as client:
                yield client, asked
        finally:
            server.shutdown()
            thread.join()


HTML = (502, "text/html", b"<html>Bad gateway</html>")


@pytest.mark.parametrize(
    ("answer", "times", "words"),
    [
        (HTML, 5, "answered 502, and not as evenhand does"),
        ((404, "text/html", b"<html>"), 1, "answered 404, and not as evenhand does"),
        ((400, "application/json", b"[]"), 1, "answered 400, and not as evenhand does"),
        ((503, "application/problem+json", b'{"detail": "the disk is full."}'), 5, "disk is full"),
    ],
)
def test_whatever_refuses_it_is_an_error_of_the_client_s(monkeypatch, answer, times, words):
    monkeypatch.setattr(module, "FIRST_WAIT", 0.0)
    with proxy(*[answer] * 5) as (client, asked):
        with pytest.raises(Refused, match=words) as refused:
            client.get("/v1/pools")
        assert (refused.value.status, len(asked)) == (answer[0], times)


def test_a_proxy_that_finds_the_service_again(monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT", 0.0)
    with proxy(HTML, (200, "application/json", b"{}")) as (client, asked):
        assert client.get("/v1/pools") == {}
        assert len(asked) == 2
