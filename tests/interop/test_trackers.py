"""Where numbers go: files always, others where they are installed."""

from __future__ import annotations

import itertools
import json
import os
import sys

import pytest
from typer.testing import CliRunner

from evenhand.cli.app import app
from evenhand.errors import BadParameter, CannotWrite, MissingExtra
from evenhand.interop import CsvSink, JsonLinesSink, MLflowSink, TensorBoardSink
from evenhand.interop.trackers import open_sink
from evenhand.lab import runs


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


@pytest.mark.system  # takes seconds
def test_train_tracks_its_scores_as_it_goes(tmp_path):
    curve, lines = tmp_path / "curve.csv", tmp_path / "curve.jsonl"
    command = ["train", "doughnuts", "--stakeholders", "2", "--horizon", "3", "--steps", "500"]
    command += ["--track", str(curve), "--track", str(lines), "--json"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    steps, scores = told["curve"]["steps"], [row[0] for row in told["curve"]["scores"]]
    rows = [line.split(",") for line in curve.read_text().split()]
    assert rows[0] == ["step", "score"]
    assert [int(row[0]) for row in rows[1:]] == steps
    assert [float(row[1]) for row in rows[1:]] == pytest.approx(scores)
    kept = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [line["step"] for line in kept] == steps


@pytest.mark.parametrize("kind", ["tables", pytest.param("networks", marks=pytest.mark.system)])
def test_a_run_that_goes_on_keeps_the_whole_curve(tmp_path, kind, monkeypatch):
    """Stopped half-way and begun again, then asked for once more: each time the curve is whole."""
    out, curve = tmp_path / "out", tmp_path / "curve.csv"
    command = ["train", "doughnuts", "--stakeholders", "2", "--horizon", "3", "--seeds", "2"]
    command += ["--deep", "--episodes", "60"] if kind == "networks" else ["--steps", "200"]
    command += ["--out", str(out), "--track", str(curve), "--json"]
    if kind == "tables":
        half_way(monkeypatch)
        assert CliRunner().invoke(app, command).exit_code == 130
        monkeypatch.undo()
        assert len(curve.read_text().split()) - 1 == 20
    for _ in range(2):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)["curve"]
        rows = [line.split(",") for line in curve.read_text().split()[1:]]
        assert [int(row[0]) for row in rows] == told["steps"]
        means = [sum(row) / 2 for row in told["scores"]]
        assert [float(row[1]) for row in rows] == pytest.approx(means)
    mistaken = [*command[:2], "--method", "fullest", *command[2:]]
    assert CliRunner().invoke(app, mistaken).exit_code != 0
    assert len(curve.read_text().split()) == len(rows) + 1


def half_way(monkeypatch):
    """Ctrl-C after twenty stretches."""
    count, stretch = itertools.count(), runs._stretch

    def stopped(*what):
        if next(count) == 20:
            raise KeyboardInterrupt
        return stretch(*what)

    monkeypatch.setattr(runs, "_stretch", stopped)


def test_sinks_by_name(tmp_path):
    for name, kind in {"a.csv": CsvSink, "a.jsonl": JsonLinesSink}.items():
        with open_sink(str(tmp_path / name)) as sink:
            assert isinstance(sink, kind)
    for wrong in ("a.txt", "tensorboard", "wandb:x"):
        with pytest.raises(BadParameter, match=r"name a \.csv or \.jsonl file"):
            open_sink(wrong)


def test_what_is_wrong_is_said(tmp_path, monkeypatch):
    with pytest.raises(CannotWrite, match="choose a folder that exists"):
        CsvSink(tmp_path / "nowhere" / "curve.csv")
    for name in ("tensorboard", "tensorboard.summary", "mlflow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match="pip install tensorboard"):
        TensorBoardSink(tmp_path)
    with pytest.raises(MissingExtra, match="pip install mlflow"):
        MLflowSink()


@pytest.mark.parametrize("kind", [CsvSink, JsonLinesSink])
def test_a_disk_that_is_full_is_one_sentence(tmp_path, kind):
    with kind(tmp_path / "curve") as sink:
        sink.log(1, {"score": 1.0})
        sink._file.close()
        sink._file = open("/dev/full", "w")  # noqa: SIM115
        with pytest.raises(CannotWrite, match=r"cannot be written \(No space left on device\)"):
            sink.log(2, {"score": 1.0})
    assert "1" in (tmp_path / "curve").read_text()  # what was there before is kept


def test_what_is_no_file_is_not_written_to(tmp_path):
    os.mkfifo(tmp_path / "curve.csv")
    with pytest.raises(CannotWrite, match="as it is a pipe: name a file"):
        open_sink(str(tmp_path / "curve.csv"))
