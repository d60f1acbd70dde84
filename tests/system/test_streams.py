"""Streams that are full, closed or plain, through a real shell."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.system

LOG = "who,day,much\nA,1,-2\nB,2,2\nŁódź,3,1\n"
AUDIT = "audit log.csv --stakeholder who --time day --amount much"
EVENT = '{"stakeholder": "A", "time": 1}'


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")

    def shell(command: str, **variables: str) -> tuple[int, bytes, str]:
        settings = " ".join(f"{name}={value}" for name, value in variables.items())
        line = command.replace("evenhand", f"env {settings} {sys.executable} -m evenhand", 1)
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, capture_output=True, check=False, timeout=120
        )
        said = done.stderr.decode()
        assert "Traceback" not in said
        assert "Exception ignored" not in said
        return done.returncode, done.stdout, said

    return shell


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    [
        f"evenhand {AUDIT} > /dev/full",
        f"evenhand {AUDIT} --json > /dev/full",
        "evenhand list > /dev/full",
        "evenhand --help > /dev/full",
        f"echo '{EVENT}' | evenhand monitor --name A --name B > /dev/full",
    ],
)
def test_a_full_device_is_one_sentence(shell, command, unbuffered):
    code, _, said = shell(command, PYTHONUNBUFFERED=unbuffered)
    assert code == 2
    assert said == (
        "evenhand: standard output cannot be written (No space left on device): send it somewhere "
        "else, or make room there.\n"
    )


def test_closed_streams(shell):
    assert shell(f"evenhand {AUDIT} >&-") == (0, b"", "")
    assert shell(f"evenhand {AUDIT} --out page.html >&- 2>&- <&-")[0] == 0
    assert shell("cat page.html")[1].startswith(b"<!doctype html>")  # and nothing was printed to it
    code, _, said = shell("evenhand monitor --name A <&-")
    assert (code, said[:43]) == (2, "evenhand: standard input is closed: send ev")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_knows_few_characters(shell, encoding):
    code, out, said = shell(f"evenhand {AUDIT}", PYTHONIOENCODING=encoding)
    assert (code, said) == (0, "")
    text = out.decode(encoding)
    assert "-2" in text
    assert "\\u0141" in text
    assert shell(f"evenhand {AUDIT} --help", PYTHONIOENCODING=encoding)[0] == 0
    assert shell("evenhand monitor --name A < /dev/null", PYTHONIOENCODING=encoding)[0] == 0


def test_a_terminal_of_the_c_locale(shell):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert shell(f"evenhand {AUDIT}", **plain)[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        "plan doughnuts --stakeholders 2 --horizon 3 --memories --chart folder",
        "plan doughnuts --stakeholders 2 --horizon 3 --save folder",
        "demo --out folder",
        "train doughnuts --out folder",
        "train doughnuts --track folder/none/curve.csv --stakeholders 2 --horizon 3 --steps 100",
        "compare doughnuts --out log.csv",
        "reproduce tabular --out log.csv",
        f"{AUDIT} --out folder",
        f"{AUDIT} --csv log.csv",
        f"mkfifo pipe; evenhand {AUDIT} --out pipe",
    ],
)
def test_places_where_nothing_can_be_written_are_refused(shell, command):
    shell("mkdir folder")
    code, out, said = shell(command if "evenhand" in command else f"evenhand {command}")
    assert (code, out) == (2, b"")
    assert said.count("\n") == 1
    assert "cannot be" in said
