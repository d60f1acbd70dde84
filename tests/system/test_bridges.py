"""The documents' examples of bridges that need extras, and the extras that only keep data."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import pages
from evenhand.errors import CannotConnect, CannotWrite
from evenhand.interop import MLflowSink, TensorBoardSink, episode_traces
from places import ROOT

pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default")]

PAGE = (ROOT / "docs" / "interop.md").read_text()
BLOCKS = [
    block.text
    for page in pages.PAGES
    for block in pages.blocks(page)
    if block.language == "python" and (page.name in pages.NEEDS_EXTRAS or block.waits)
]
ONE_THREAD = "import importlib.util\nif importlib.util.find_spec('torch'):\n    import torch\n"
ONE_THREAD += "    torch.set_num_threads(1)\n"


def run(code, folder):
    for needed in ("mo_gymnasium", "stable_baselines3"):
        if needed in code and importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_examples_of_the_page_run(code, tmp_path):
    assert run(code, tmp_path).strip()


def test_a_script_becomes_fair_with_five_lines(tmp_path):
    (diff,) = re.findall(r"```diff\n(.*?)```", PAGE, re.S)
    lines = diff.splitlines()
    assert sum(line.startswith("+") for line in lines) == 5
    assert not any(line.startswith("-") for line in lines)
    plain = "\n".join(line[1:] for line in lines if not line.startswith("+"))
    fair = "\n".join(line[1:] for line in lines)
    run(ONE_THREAD + plain, tmp_path)
    say = "\nprint(type(model.replay_buffer).__name__, model.observation_space.shape)"
    assert run(ONE_THREAD + fair + say, tmp_path) == "CounterfactualReplayBuffer (6,)\n"


def test_a_data_set_of_ours_becomes_traces(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari", reason="minari is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    shop = gymnasium.make("evenhand.interop:evenhand/Doughnuts-v0", num_stakeholders=3, horizon=6)
    env, received = minari.DataCollector(shop, record_infos=True, data_format="arrow"), []
    for seed in range(3):
        env.reset(seed=seed)
        over, total = False, np.zeros(3)
        while not over:
            *_, terminated, truncated, info = env.step(env.action_space.sample())
            total += info["stakeholder_rewards"]
            over = terminated or truncated
        received.append(total)
    kept = env.create_dataset("evenhand/doughnuts-v0")
    traces = episode_traces(kept.iterate_episodes())
    assert [trace.returns().tolist() for trace in traces] == [total.tolist() for total in received]


def test_tensorboard_reads_what_was_logged(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with TensorBoardSink(tmp_path) as sink:
        sink.log(10, {"score": 1.5})
        sink.log(20, {"score": 2.5})
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    (tag,) = events.Tags()["tensors"] or events.Tags()["scalars"]
    assert tag == "score"
    assert len(list(EventAccumulator(str(tmp_path)).Reload().Tensors("score"))) == 2


def test_mlflow_keeps_what_was_logged(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with MLflowSink(run_name="fair") as sink:
        run = mlflow.active_run().info.run_id
        sink.log(10, {"score": 1.5})
        sink.log(20, {"score": 2.5})
    assert mlflow.active_run() is None
    history = mlflow.MlflowClient().get_metric_history(run, "score")
    assert [(one.step, one.value) for one in history] == [(10, 1.5), (20, 2.5)]


def test_what_is_wrong_with_a_tracker_is_said(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="choose another folder"):
        TensorBoardSink(tmp_path / "file")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    mlflow.set_tracking_uri("http://127.0.0.1:1")
    with pytest.raises(CannotConnect, match="set MLFLOW_TRACKING_URI to a server"):
        MLflowSink()
