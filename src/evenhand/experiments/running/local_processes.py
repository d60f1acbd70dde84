"""Tasks in processes of this machine: one on each core, with one queue for all.

    python -m evenhand.experiments.running.local_processes

is such a process. It reads tasks from standard input, one JSON object per line, and writes to
standard output: a line after each evaluation, and one at the end of each task.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand._util.plugins import child_environment
from evenhand.errors import EvenhandError
from evenhand.experiments.running.cpu_affinity import cores
from evenhand.experiments.running.tasks import (
    MAX_TRIES,
    BlockFailed,
    Task,
    TaskProgress,
    task_from_json,
)

GRACE = 30.0  # seconds that a process has to save what it has, when it is asked to stop


class WorkerBroke(RuntimeError):
    """A process that ended by a mistake of ours; its own last words, if any, tell which."""

    def __init__(self, sentence: str, words: str) -> None:
        super().__init__(sentence)
        if words:
            self.add_note(f"The process said:\n{words}")


class _Lost(Exception):
    """A process that ended in the middle of a task."""

    def __init__(self, code: int, said: Sequence[str]) -> None:
        super().__init__(code)
        self.code, self.said = code, said

    @property
    def killed(self) -> bool:
        return self.code < 0

    def sentence(self, task: Task) -> str:
        return (
            f"the process that trained {task.name} ended with code {self.code}"
            f"{': ' + self.said[-1] if self.said else ''}. What it had saved is kept: run the "
            "command again."
        )


@dataclass(frozen=True)
class LocalProcesses:
    """As many processes as there are cores, or fewer; each takes the next task when it is done."""

    workers: int | None = None

    def open(self) -> None:
        pass  # they start when there is something to do

    def run(self, tasks: Sequence[Task], on_progress: TaskProgress, stop: threading.Event) -> None:
        number = min(len(tasks), self.workers or len(cores()))
        queue = deque(enumerate(tasks))
        shifts = [_Shift(queue, on_progress, stop) for _ in range(number)]
        for shift in shifts:
            shift.start()
        interrupted = 0.0
        while any(shift.is_alive() for shift in shifts):
            if any(shift.failure for shift in shifts):
                stop.set()
            if stop.is_set():
                interrupted = interrupted or time.monotonic()
                for shift in shifts:
                    shift.interrupt(time.monotonic() - interrupted > GRACE)
            time.sleep(0.05)
        failures = [shift.failure for shift in shifts if shift.failure is not None]
        # Where one failed, the others were asked to stop: that is not what went wrong.
        failures.sort(key=lambda failure: isinstance(failure, KeyboardInterrupt))
        if failures:
            raise failures[0]


class _Shift(threading.Thread):
    """One process after another, if need be, that works through the queue."""

    def __init__(
        self,
        queue: deque[tuple[int, Task]],
        on_progress: TaskProgress,
        stop: threading.Event,
    ) -> None:
        super().__init__()
        self.queue, self.on_progress, self.stopped = queue, on_progress, stop
        self.failure: BaseException | None = None
        self.process: _Process | None = None

    def run(self) -> None:
        try:
            while not self.stopped.is_set():
                try:
                    k, task = self.queue.popleft()
                except IndexError:
                    return
                self._see_through(k, task)
        except BaseException as failure:
            self.failure = failure
        finally:
            self._dismiss()

    def _see_through(self, k: int, task: Task) -> None:
        """Do the task; where its process is killed, another goes on from what was saved."""
        for tries in range(1, MAX_TRIES + 1):
            self.process = self.process or _Process()
            try:
                self.process.do(task, lambda *now: self.on_progress(k, *now))
            except _Lost as lost:
                self._dismiss()
                if self.stopped.is_set():
                    return
                if not lost.killed:
                    raise WorkerBroke(lost.sentence(task), "\n".join(lost.said)) from None
                if tries == MAX_TRIES:
                    raise BlockFailed(lost.sentence(task)) from None
            else:
                return

    def interrupt(self, at_once: bool) -> None:
        process = self.process  # the shift's own thread may dismiss it at any time
        if process is not None:
            process.interrupt(at_once)

    def _dismiss(self) -> None:
        if self.process is not None:
            self.process.close()
            self.process = None


class _Process:
    """A process that does one task after the other."""

    def __init__(self) -> None:
        # A file and not a pipe: a pipe that nobody reads is full at some time.
        self.words = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self.process = subprocess.Popen(
            [sys.executable, "-m", "evenhand.experiments.running.local_processes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.words,
            text=True,
            env={**os.environ, **child_environment()},  # what users have registered here
        )

    def do(self, task: Task, progress: Callable[[int, int, float], None]) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(task.to_json()), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            said = json.loads(line)
            if "now" in said:
                progress(*said["now"])
            elif "refused" in said:
                raise BlockFailed(said["refused"])
            elif said["finished"]:
                return
            else:
                raise KeyboardInterrupt
        raise _Lost(self.process.wait(), self.last_words())

    def last_words(self) -> list[str]:
        """What the process said of its own end."""
        self.words.seek(0)
        return self.words.read().decode(errors="replace").strip().splitlines()

    def interrupt(self, at_once: bool) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL if at_once else signal.SIGINT)

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.words.close()


def main() -> None:
    """Do the tasks that standard input names."""

    def interrupted_once(*_: Any) -> None:
        # The terminal and the process that waits for this one may both say so: once is enough.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    # An environment of a user's may print, and that is no answer: it goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**what: Any) -> None:
        print(json.dumps(what), file=answers, flush=True)

    signal.signal(signal.SIGINT, interrupted_once)
    try:
        for line in sys.stdin:
            try:
                task = task_from_json(json.loads(line))
                say(finished=task.do(lambda *now: say(now=now)).finished)
            except EvenhandError as error:
                say(refused=str(error))
            except KeyboardInterrupt:
                say(finished=False)
    except (KeyboardInterrupt, BrokenPipeError):
        # Nobody listens any more, or there was nothing to be saved.
        sys.stderr.close()
        sys.exit(130)


if __name__ == "__main__":
    main()
