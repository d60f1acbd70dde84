"""Where numbers go: files always, others where they are installed."""

from __future__ import annotations

import json
import sys

import pytest

from evenhand.errors import BadParameter, CannotWrite
from evenhand.interop import CsvSink, JsonLinesSink, MLflowSink, TensorBoardSink
from evenhand.interop.errors import MissingExtra


def test_a_row_a_step(tmp_path):
    with CsvSink(tmp_path / "curve.csv") as sink:
        sink.log(10, {"score": 1.5, "epsilon": 0.5})
        sink.log(20, {"epsilon": 0.25, "score": 2.0})
        assert (tmp_path / "curve.csv").read_text().count("\n") == 3  # there before it is closed
        with pytest.raises(BadParameter, match="log the same names"):
            sink.log(30, {"score": 1.0})
    assert (tmp_path / "curve.csv").read_text().split() == [
        "step,score,epsilon",
        "10,1.5,0.5",
        "20,2.0,0.25",
    ]


def test_a_json_object_a_line(tmp_path):
    with JsonLinesSink(tmp_path / "curve.jsonl") as sink:
        sink.log(1, {"score": 1.0})
        sink.log(2, {"loss": 0.5})
    lines = (tmp_path / "curve.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": 1, "score": 1.0},
        {"step": 2, "loss": 0.5},
    ]


def test_what_is_wrong_is_said(tmp_path, monkeypatch):
    with pytest.raises(CannotWrite, match="choose a folder that exists"):
        CsvSink(tmp_path / "nowhere" / "curve.csv")
    for name in ("tensorboard", "tensorboard.summary", "mlflow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match="pip install tensorboard"):
        TensorBoardSink(tmp_path)
    with pytest.raises(MissingExtra, match="pip install mlflow"):
        MLflowSink()
