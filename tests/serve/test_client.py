"""The client: what it asks is answered, what is refused is an error, what fails is tried again."""

from __future__ import annotations

import pytest

from evenhand.errors import BadParameter, CannotConnect
from evenhand.serve import client as module
from evenhand.serve.background import background_service
from evenhand.serve.client import DecisionClient, Refused


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
