"""Whether an installed evenhand works: run by the Python it is installed for, in an empty folder.

    python installed_check.py            # what `pip install evenhand` promises
    python installed_check.py learn serve   # and these extras

Needs nothing but evenhand itself, so that it runs where no checkout and no test runner is. Figures
are those of shared arithmetic: four equal shipments, two to each, and the doughnuts of two.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

LOG = "day,country,doses\n2021-01-31,A,20\n2021-02-28,A,20\n2021-03-31,B,20\n2021-04-30,B,20\n"
COLUMNS = ("--stakeholder", "country", "--time", "day", "--amount", "doses")
ALONE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def evenhand(*words: str, stdin: str = "", code: int = 0) -> str:
    """What a command prints; it must end with this code."""
    command = [sys.executable, "-m", "evenhand", *words]
    done = subprocess.run(
        command, env=ALONE, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, f"{' '.join(words)}: {done.returncode}\n{done.stderr}"
    return done.stdout if code == 0 else done.stderr


def it_is_not_a_checkout() -> None:
    import evenhand as package

    assert "site-packages" in package.__file__, package.__file__
    assert evenhand("--version").strip() == f"evenhand {package.__version__}"
    assert Path(package.__file__).with_name("py.typed").exists()


def audit_judges() -> None:
    found = json.loads(evenhand("audit", "log.csv", *COLUMNS, "--every", "month", "--json"))
    assert "Equal at the end, but unequal month by month" in found["verdict"]
    evenhand("audit", "log.csv", *COLUMNS, "--every", "month", "--best", "--out", "report.html")
    assert "vegaEmbed" in Path("report.html").read_text(encoding="utf-8")


def replay_decides_anew() -> None:
    found = json.loads(evenhand("replay", "log.csv", *COLUMNS, "--rule", "least_served", "--json"))
    text = json.dumps(found)
    assert "least_served" in text, text[:500]


def monitor_watches() -> None:
    events = "".join(
        json.dumps({"day": day, "country": name, "doses": 20}) + "\n"
        for day, name in (("2021-01-31", "A"), ("2021-02-28", "A"))
    )
    said = evenhand("monitor", *COLUMNS, "--name", "A", "--name", "B", stdin=events)
    assert json.loads(said.splitlines()[-1])["events"] == 2


def what_is_missing_says_so() -> None:
    assert "pip install 'evenhand[learn]'" in evenhand("plan", "doughnuts", code=2)
    assert "pip install 'evenhand[serve]'" in evenhand("serve", "--store", "none.db", code=2)
    assert "pip install 'evenhand[learn]'" in evenhand("list")


def plan_finds_the_optimum() -> None:
    words = ("doughnuts", "--stakeholders", "2", "--horizon", "2", "--presence", "0.5")
    found = json.loads(evenhand("plan", *words, "--json"))
    optimum = 27 / 16 * math.log(2) + 3 / 16 * math.log(3)
    assert abs(found["optimum"] - optimum) < 1e-6, found["optimum"]


def train_writes_a_policy() -> None:
    words = ("doughnuts", "--stakeholders", "2", "--horizon", "4", "--episodes", "20")
    evenhand("train", *words, "--out", "fair.policy")
    found = json.loads(evenhand("evaluate", "fair.policy", "--json"))
    assert "fair.policy" in os.listdir()
    assert found


def serve_answers() -> None:
    command = [sys.executable, "-m", "evenhand", "serve", "--store", "new.db", "--port", "0"]
    service = subprocess.Popen(
        [*command, "--json"], env=ALONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    stopper = threading.Timer(120, service.kill)  # one that hangs is a failure, not a wait
    stopper.start()
    try:
        printed = ""
        for line in service.stdout:  # one object over several lines; then it serves
            printed += line
            if line == "}\n":
                break
        assert printed, service.stderr.read()
        said = json.loads(printed)
        address = said["address"]
        from evenhand.serve.client import DecisionClient

        client = DecisionClient(address, said["token"]["secret"])
        client.make_pool("reviews", ["Ann", "Ben"], rule="least_served")
        client.take("reviews")
        assert "Ben" in json.dumps(client.next("reviews"))
        assert urllib.request.urlopen(address + "/health").status == 200
        client.close()
    finally:
        service.terminate()
        service.wait(60)
        stopper.cancel()


BASE = (it_is_not_a_checkout, audit_judges, replay_decides_anew, monitor_watches)
BY_EXTRA: dict[str, tuple[Callable[[], None], ...]] = {
    "learn": (plan_finds_the_optimum, train_writes_a_policy),
    "serve": (serve_answers,),
}


def main(extras: list[str]) -> int:
    checks = [*BASE, *(one for extra in extras for one in BY_EXTRA[extra])]
    if not extras:
        checks.append(what_is_missing_says_so)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("log.csv").write_text(LOG)
        for check in checks:
            try:
                check()
            except Exception as error:
                failed += 1
                print(f"FAILED {check.__name__}: {type(error).__name__}: {error}")
        os.chdir("/")
    print(f"Python {sys.version.split()[0]}: {len(checks) - failed} passed, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
