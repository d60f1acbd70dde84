"""What a process that watches writes on standard error."""

import subprocess
import sys

EVENT = b'{"time": "2021-01-01", "stakeholder": "B", "amount": 2}\n'
AS_A_PROCESS = (sys.executable, "-m", "evenhand", "monitor")


def test_after_a_roster_with_dates_no_library_complains(tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("name,from,until\nA,2021-01-01,\nB,,2021-02-01\n")
    watched = subprocess.run(
        [*AS_A_PROCESS, "--roster", str(roster)], input=EVENT, capture_output=True, check=True
    )
    assert watched.stdout.count(b"\n") == 2  # an assessment and the summary
    assert watched.stderr == b""
