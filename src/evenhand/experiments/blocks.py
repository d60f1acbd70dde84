"""Seeds spread over the cores: each block of them is a resumable run in a process of its own.

    python -m evenhand.experiments.blocks

is such a process. It reads a JSON object from standard input (what to train, where to save it,
which core to use) and writes a JSON line to standard output after each evaluation.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.experiments.runs import Progress, Run


class BlockFailed(EvenhandError):
    """A process that trained some of the seeds did not come to its end."""


def cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def build(config: dict[str, Any]) -> Any:
    """The agent that a configuration describes."""
    from evenhand.envs.names import ENVIRONMENTS
    from evenhand.experiments.ablation import with_script_mistakes
    from evenhand.experiments.deep import deep_learner
    from evenhand.experiments.tabular import PROPOSALS, tabular_learner
    from evenhand.learn.saved import build_memory
    from evenhand.scheme_file import from_table

    environment = from_table(config["environment"], ENVIRONMENTS, "environment")
    varied: dict[str, Any] = {}
    if config.get("memory") is not None:
        varied["memory"] = build_memory(config["memory"])
    if config.get("proposal") is not None:
        varied["proposal"] = from_table(config["proposal"], PROPOSALS, "proposal")
    what = environment, config["method"], config["recipe"]
    if not config.get("deep"):
        return tabular_learner(*what, **varied)
    agent = deep_learner(*what, **varied)
    settings = dict(config.get("settings") or {})
    if settings.pop("script_mistakes", False):
        settings["problem"] = with_script_mistakes(agent.problem)
    return replace(agent, **settings) if settings else agent


def train_in_blocks(
    config: dict[str, Any],
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    meanwhile: Callable[[], Any] | None = None,
    workers: int | None = None,
) -> Run:
    """Train with the seeds spread over the cores; `meanwhile` is done while they are busy.

    The blocks are saved beside `path`, as path.block0, path.block1, …, and go on from there.
    """
    with contextlib.ExitStack() as stack:
        if path is None:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "run"
        seeds = np.array_split(config["seeds"], _number(config, workers))
        blocks = [{**config, "seeds": block.tolist()} for block in seeds]
        files = [Path(f"{path}.block{k}") for k in range(len(blocks))]
        on = cores()
        processes = [
            _Block(block, file, on[k % len(on)])
            for k, (block, file) in enumerate(zip(blocks, files, strict=True))
        ]
        try:
            _follow(processes, progress, meanwhile)
        except BaseException:
            for process in processes:
                process.stop()
            raise
        return merge(config, files)


def block_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files in which blocks were saved on the way."""
    path = Path(path)
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.block*"))


def _number(config: dict[str, Any], workers: int | None) -> int:
    return max(1, min(len(config["seeds"]), workers or len(cores())))


class _Block:
    """A process that trains some of the seeds."""

    def __init__(self, config: dict[str, Any], path: Path, core: int) -> None:
        self.weight = len(config["seeds"])
        self.latest: tuple[int, int, float] | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "evenhand.experiments.blocks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self.process.stdin as pipe:
            json.dump({"config": config, "path": str(path), "core": core}, pipe)

    def read(self, heard: Callable[[], None]) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.latest = tuple(json.loads(line))
                heard()

    def last_words(self) -> list[str]:
        """What the process said of its own end."""
        assert self.process.stderr is not None
        with self.process.stderr as pipe:
            return pipe.read().strip().splitlines()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def _follow(
    blocks: Sequence[_Block], progress: Progress | None, meanwhile: Callable[[], Any] | None
) -> None:
    """Wait for all blocks, and tell how far they are together."""

    def heard() -> None:
        known = [block for block in blocks if block.latest is not None]
        if progress is None or len(known) < len(blocks):
            return
        latest = np.array([block.latest for block in known], dtype=float)
        score = np.average(latest[:, 2], weights=[block.weight for block in known])
        progress(int(latest[:, 0].mean()), int(latest[0, 1]), float(score))

    threads = [threading.Thread(target=block.read, args=(heard,)) for block in blocks]
    for thread in threads:
        thread.start()
    interrupted = False
    try:
        if meanwhile is not None:
            meanwhile()
    except KeyboardInterrupt:
        interrupted = True
    for block, thread in zip(blocks, threads, strict=True):
        # Ctrl-C reaches the processes too: they save what they have and stop by themselves.
        while thread.is_alive() or block.process.poll() is None:
            try:
                thread.join()
                block.process.wait()
            except KeyboardInterrupt:
                interrupted = True
    ends = [(block.process.returncode, block.last_words()) for block in blocks]
    for code, words in ends:
        if code and not interrupted:
            raise BlockFailed(_why(code, words))


def _why(code: int, said: Sequence[str]) -> str:
    if code == 2 and said:
        return said[-1].removeprefix("evenhand: ")
    return (
        f"a process that trained some of the seeds ended with code {code}"
        f"{': ' + said[-1] if said else ''}. What it had saved is kept: run the command again."
    )


def merge(config: dict[str, Any], files: Sequence[Path]) -> Run:
    """The runs of the blocks as one: as far as all of them have come."""
    from evenhand.experiments.runs import Run, load_run

    if not all(file.exists() for file in files):
        raise KeyboardInterrupt
    parts = [load_run(file) for file in files]
    rows = min(len(part.scores) for part in parts)
    measures = {
        name: np.concatenate([part.measures[name][:rows] for part in parts], axis=1)
        for name in parts[0].measures
    }
    learners = {
        name: np.concatenate([part.learners[name] for part in parts]) for name in parts[0].learners
    }
    seconds, compiling = (
        max(getattr(part, name) for part in parts) for name in ("seconds", "compile_seconds")
    )
    return Run(config, learners, measures, seconds, compiling, parts[0].versions)


def _work() -> None:
    """Train one block, as told on standard input."""
    told = json.load(sys.stdin)
    if hasattr(os, "sched_setaffinity"):
        # One core each, before JAX counts them: two pools of threads on the same cores only wait.
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {told["core"]})
    from evenhand.experiments.runs import train

    def say(*now: Any) -> None:
        print(json.dumps(now), flush=True)

    try:
        train(build(told["config"]), told["config"], told["path"], say)
    except EvenhandError as error:
        print(f"evenhand: {error}", file=sys.stderr)
        sys.exit(2)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)


if __name__ == "__main__":
    _work()
