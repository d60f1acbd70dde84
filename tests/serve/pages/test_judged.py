"""The audit and the files: what the API gives, with the cookie of the page."""

from __future__ import annotations

import csv
import io

import pytest

from at_the_page import at_the_page, text_of

HOME = "/pools/small"


@pytest.mark.system  # takes seconds
def test_audit_and_exports(tmp_path):
    with at_the_page(tmp_path) as ann:
        assert "there is nothing to judge" in text_of(ann.open(f"{HOME}/audit", 422))
        for _ in range(4):
            ann.send(HOME, f"{HOME}/take")
        page = ann.open(f"{HOME}/judged")
        assert "every month" not in page  # the times of this pool are plain numbers
        audit = ann.client.get(f"{HOME}/audit")
        assert audit.status_code == 200
        assert "Content-Security-Policy" in audit.text
        assert "frame-ancestors 'none'" in audit.headers["content-security-policy"]
        assert ann.client.get(f"{HOME}/audit?every=end").status_code == 200
        rows = list(csv.DictReader(io.StringIO(ann.open(f"{HOME}/export.csv"))))
        assert [row["stakeholder"] for row in rows] == ["Ann", "Ben", "Cem", "Ann"]
        assert "Cem" in ann.open(f"{HOME}/roster.csv")
        assert ann.client.get(f"{HOME}/export.parquet").content[:4] == b"PAR1"


@pytest.mark.system  # takes seconds
def test_alarms_are_shown(tmp_path):
    with at_the_page(tmp_path) as ann:
        assert "No decision was taken yet" in text_of(ann.open(f"{HOME}/judged"))
        for number in range(40):
            typed = {"place": "0", "reason": "a friend"}  # Ann, whoever is next
            ann.send(HOME, f"{HOME}/otherwise", **typed)
            if number == 2:
                assert "Nobody: at no time point" in text_of(ann.open(f"{HOME}/judged"))
        page = text_of(ann.open(f"{HOME}/judged"))
        assert "Ben is behind by more than a fair lottery explains." in page
        assert "Cem is behind" in page
        assert "Ann is behind" not in page


def test_a_form_has_a_page(tmp_path):
    with at_the_page(tmp_path) as ann:
        answer = ann.client.get(f"{HOME}/take", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, HOME)
        answer = ann.client.get("/new/columns", follow_redirects=False)
        assert answer.headers["location"] == "/new"
