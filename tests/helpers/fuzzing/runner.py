"""Runs a trial, in a process that is kept or in one of its own, and says what became of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fast_compiling import compile_fast
from fuzzing.saved_files import EVENTS, FOLDER, STATE, WATCHED
from fuzzing.trial import SECRET, Trial
from places import ROOT

LONGEST = 600  # characters of a sentence
# What is a hang, however busy the machine is: so many seconds of work, or of waiting for something.
WORK_LIMIT = 30.0
IDLE_LIMIT = 20.0
GOOD = ("accepted", "threshold", "sentence")
BAD = ("traceback", "hang", "crash", "too long", "not a sentence", "bad answer")
FRAME = re.compile(r'File "[^"]*/evenhand/([^"]+)", line (\d+), in (\S+)')
NOT_NUMBERS = re.compile(rb"(?<![\w.'\"])[-\xe2\x88\x92]*(nan|inf)(?![\w'\"])", re.I)


@dataclass(frozen=True)
class Outcome:
    kind: str
    said: str = ""
    where: str = ""  # of a traceback: what was raised, and where

    @property
    def bad(self) -> bool:
        return self.kind in BAD

    @property
    def signature(self) -> str:
        return f"{self.kind}: {self.where or re.sub(r'[^a-z ]', '', self.said)[:60]}"


class Runner:
    """Runs trials in one process, which is replaced when it hangs or crashes."""

    def __init__(
        self,
        work_limit: float = WORK_LIMIT,
        idle_limit: float = IDLE_LIMIT,
        learned: bool = True,  # whether what learners save is needed, for which jax is loaded
    ) -> None:
        self.work_limit, self.idle_limit = work_limit, idle_limit
        self.folder = Path(tempfile.mkdtemp(prefix="evenhand-fuzz-"))
        self.process: subprocess.Popen[bytes] | None = None
        samples = self.folder / "samples"
        samples.mkdir()
        os.environ[FOLDER] = str(samples)
        if learned:
            self._ask({"samples": str(samples)})
        state = ("monitor", *WATCHED, "--state", str(samples / STATE))
        made = self.run(Trial("monitor", state, stdin=EVENTS))
        assert made.kind == "accepted", made

    def run(self, trial: Trial) -> Outcome:
        with self._laid_out(trial) as folder:
            order = {
                "folder": str(folder),
                "verb": trial.verb,
                "arguments": trial.arguments,
                "encoding": trial.encoding,
                "full": trial.full,
                "closed": trial.stdin is None,
            }
            try:
                code = self._ask(order)
            except TimeoutError as late:
                return Outcome("hang", where=f"{trial.verb} {late}")
            except EOFError as end:
                return Outcome("crash", where=f"{trial.verb} {end}")
            return judged(trial, code, folder)

    def run_in_shell(self, trial: Trial) -> Outcome:
        """The same as a person would run it: in a process of its own."""
        with self._laid_out(trial) as folder:
            with (
                open("/dev/full" if trial.full else folder / "stdout", "wb") as out,
                open(folder / "stderr", "wb") as err,
                open(folder / "stdin", "rb") as given,
            ):
                words = [sys.executable, "-m", "evenhand", *trial.arguments]
                if trial.stdin is None:
                    words = ["sh", "-c", 'exec "$@" <&-', "sh", *words]
                process = subprocess.Popen(
                    words,
                    cwd=folder / "here",
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    env={
                        **_environment(),
                        "TMPDIR": str(folder / "tmp"),
                        "PYTHONIOENCODING": trial.encoding,
                    },
                    start_new_session=True,
                )
            try:
                self._watch(process, lambda seconds: _ended(process, seconds))
            except TimeoutError as late:
                _end(process)
                return Outcome("hang", where=f"{trial.verb} in the shell {late}")
            code = process.wait()
            if code < 0:
                return Outcome("crash", where=f"{trial.verb} in the shell: signal {-code}")
            return judged(trial, code, folder)

    @contextlib.contextmanager
    def _laid_out(self, trial: Trial) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for name in ("here", "tmp"):
            (folder / name).mkdir()
        (folder / "stdin").write_bytes(trial.stdin or b"")
        trial.lay_out(folder / "here")
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, order: dict[str, Any]) -> Any:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fuzzing.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,
            )
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        answers = process.stdout
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        try:
            self._watch(process, lambda seconds: bool(select.select([answers], [], [], seconds)[0]))
        except TimeoutError:
            self.close()
            raise
        line = answers.readline()
        if not line:
            code = process.wait()
            self.close()
            raise EOFError(f"ended with {code}")
        return json.loads(line)

    def _watch(self, process: subprocess.Popen[bytes], done: Callable[[float], bool]) -> None:
        """Wait until it is done; raise if it works or waits for longer than is sensible."""
        first = last = _worked(process.pid)
        changed = time.monotonic()
        while not done(0.25):
            worked = _worked(process.pid)
            if worked > last:
                last, changed = worked, time.monotonic()
            if worked - first > self.work_limit:
                raise TimeoutError("works and works")
            if time.monotonic() - changed > self.idle_limit:
                raise TimeoutError("waits")

    def close(self) -> None:
        if self.process is not None:
            _end(self.process)
            self.process = None

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def _environment() -> dict[str, str]:
    compile_fast()
    paths = (ROOT / "src", ROOT / "tests" / "helpers")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "COLUMNS": "100"}


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def _worked(pid: int) -> float:
    """Seconds that a process and those it started have worked, where the system tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        threads = Path(f"/proc/{pid}/task").iterdir()  # each knows the processes that it started
        started = [child for one in threads for child in (one / "children").read_text().split()]
    except OSError:
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_worked(int(child)) for child in started)


def judged(trial: Trial, code: int, folder: Path) -> Outcome:
    """What an exit code and what was written amount to."""
    out = (folder / "stdout").read_bytes() if (folder / "stdout").exists() else b""
    err = (folder / "stderr").read_text(encoding="utf-8", errors="backslashreplace")
    if code == 70:
        return Outcome("traceback", err, _raised(folder / "tmp"))
    if b"Traceback" in out or "Traceback" in err:
        return Outcome("traceback", err, err.strip().rpartition("\n")[2])
    if "Warning" in err or "Exception ignored" in err:
        return Outcome("not a sentence", err)
    named_all = any("*" in part for part in trial.arguments)  # a pattern names every file
    if not named_all and (SECRET.encode() in out or SECRET in err):
        return Outcome("bad answer", "it tells what stands in a file that nobody named")
    if code == 2:
        return _refusal(trial, err)
    if code not in (0, 1) or (code == 1 and trial.verb not in ("audit", "monitor", "typo")):
        return Outcome("bad answer", f"exit code {code}: {err}")
    found = NOT_NUMBERS.search(out)
    if found and found[1].lower() not in trial.given().lower():
        around = out[max(0, found.start() - 60) : found.end() + 20].decode(errors="replace")
        return Outcome("bad answer", f"{found[1].decode()} in the answer: {around}")
    if not all(line.startswith("evenhand: ") for line in _written(err)):
        return Outcome("not a sentence", err)
    return Outcome("threshold" if code else "accepted", err)


def _written(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.strip()]


def _refusal(trial: Trial, err: str) -> Outcome:
    """One sentence; a monitor has said before which lines it left out."""
    lines = _written(err)
    if not lines and not trial.arguments:
        return Outcome("sentence")  # help was shown
    if any(len(line) > LONGEST for line in lines):
        return Outcome("too long", err)
    told = lines[-1:] if trial.verb in ("monitor", "typo") else lines
    if len(told) != 1 or not all(line.startswith("evenhand: ") for line in lines):
        return Outcome("not a sentence", err)
    return Outcome("sentence", told[0])


def _raised(folder: Path) -> str:
    """What was raised and where, by the file of details."""
    for path in folder.glob("evenhand-*.txt"):
        text = path.read_text(errors="replace")
        frames = FRAME.findall(text)
        last = [
            line for line in text.splitlines() if re.match(r"[\w.]+(Error|Exception|Broke)\b", line)
        ]
        name = last[-1].partition(":")[0] if last else text.strip().rpartition("\n")[2][:60]
        at = "{}:{} {}".format(*frames[-1]) if frames else "?"
        return f"{name} at {at}"
    return "no details"
