"""Tests of serve.pages.imports."""

from __future__ import annotations

import gzip
import io

import pytest

from at_the_page import HOSTILE, LONG, at_the_page, text_of
from evenhand.errors import BadParameter
from evenhand.serve.api.middleware import Role
from evenhand.serve.pages import imports
from evenhand.serve.pages.imports import LASTS, MOST, UploadShelf, guess_columns
from serving import small_service

# Which column probably says what, on headers as people write them.


@pytest.mark.parametrize(
    ("columns", "row", "guess"),
    [
        (["date", "who", "hours"], ["2026-01-01", "Ann", "2"], ("who", "date", "hours")),
        (["Shift_Date", "Assigned To"], ["1/2/26", "Ann"], ("Assigned To", "Shift_Date", "")),
        (["Tag", "Wer", "Wieviel"], ["3.1.2026", "Ann", "2"], ("Wer", "Tag", "")),
        (["id", "updated", "candidate"], ["7", "x", "Ann"], ("updated", "", "")),
        (["Name", "Name 2"], ["Ann", "Ben"], ("Name", "", "")),
        (["", "when"], ["Ann", "1"], ("", "when", "")),
        ([], [], ("", "", "")),
    ],
)
def test_guesses(columns, row, guess):
    assert tuple(guess_columns(columns, [row])) == guess


# A log becomes a pool from the page: tidy and untidy files, and what cannot be read.

TIDY = "date,who,hours\n2026-01-01,Ann,2\n2026-01-02,Ben,1\n2026-01-03,Ann,1\n"


@pytest.fixture
def ann(tmp_path):
    with at_the_page(tmp_path) as found:
        yield found


def upload(visitor, content, name="rota 1.csv", status=200):
    fields = visitor.form(visitor.open("/new"), "/new/import")
    data = content if isinstance(content, bytes) else content.encode()
    answer = visitor.client.post("/new/import", data=fields, files={"log": (name, data)})
    assert answer.status_code == status, answer.text
    return answer.text


def bring(visitor, page, status=201, **typed):
    """Send the form of the columns."""
    fields = visitor.form(page, "/new/columns") | typed
    answer = visitor.client.post("/new/columns", data=fields)
    assert answer.status_code == status, text_of(answer.text)
    return answer.text


def test_a_tidy_log(ann):
    page = upload(ann, TIDY)
    fields = ann.form(page, "/new/columns")
    proposed = {name: fields[name] for name in ("stakeholder", "time", "amount", "pool")}
    assert proposed == {"stakeholder": "who", "time": "date", "amount": "hours", "pool": "rota-1"}
    words = text_of(bring(ann, page))
    assert "3 decisions of 2 people were imported." in words
    words = text_of(ann.open("/pools/rota-1"))
    assert "Next Ben Has received 1." in words
    assert "1 to Ann Why? 2026-01-03, noted" in words
    assert "Noted: 1 to Ben" in text_of(ann.send("/pools/rota-1", "/pools/rota-1/take"))
    words = text_of(ann.open("/pools/rota-1/decisions/6"))  # the last of the log
    assert "This is from a log that was imported." in words
    assert "Ann is second of 2: it has received 2. Ben is next: it has received 1." in words


def as_parquet():
    import polars as pl

    file = io.BytesIO()
    pl.read_csv(TIDY.encode(), try_parse_dates=True).write_parquet(file)
    return file.getvalue()


def as_workbook():
    import xlsxwriter

    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet()
        for row, line in enumerate(TIDY.split()):
            sheet.write_row(row, 0, line.split(","))
    return file.getvalue()


KINDS = {
    "parquet": as_parquet,
    "xlsx": as_workbook,
    "csv.gz": lambda: gzip.compress(TIDY.encode()),
    "jsonl": lambda: (
        b'{"date": "2026-01-01", "who": "Ann", "hours": 2}\n'
        b'{"date": "2026-01-02", "who": "Ben", "hours": 1}\n'
        b'{"date": "2026-01-03", "who": "Ann", "hours": 1}\n'
    ),
}


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("kind", KINDS)
def test_any_file_that_an_audit_reads(ann, kind):
    """It is known by its content, whatever it is called, on the page and by the API."""
    content = KINDS[kind]()
    page = upload(ann, content, name="shifts")
    assert "2026-01-02" in text_of(page)
    assert "3 decisions of 2 people" in text_of(bring(ann, page))
    assert "Next Ben Has received 1." in text_of(ann.open("/pools/shifts"))


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("kind", KINDS)
def test_the_api_reads_the_same_files(tmp_path, kind):
    with small_service(tmp_path) as client:
        assert client.post("/v1/pools", json={"name": "shifts"}).status_code == 201
        columns = {"stakeholder": "who", "time": "date", "amount": "hours"}
        answer = client.post("/v1/pools/shifts/import", params=columns, content=KINDS[kind]())
        assert answer.status_code == 201, answer.text
        assert (answer.json()["decisions"], answer.json()["stakeholders"]) == (3, 2)
        assert client.get("/v1/pools/shifts/next").json()["shares"][0]["name"] == "Ben"


def test_the_api_reads_a_table_with_a_column_for_each_person(tmp_path):
    with small_service(tmp_path) as client:
        client.post("/v1/pools", json={"name": "shifts"})
        log = b"date,Ann,Ben\n2026-01-01,2,0\n2026-01-02,,1\n"
        asked = {"wide": "stakeholder", "time": "date"}
        answer = client.post("/v1/pools/shifts/import", params=asked, content=log)
        assert answer.status_code == 201, answer.text
        state = client.get("/v1/pools/shifts/state").json()["stakeholders"]
        assert {one["name"]: one["received"] for one in state} == {"Ann": 2.0, "Ben": 1.0}
        refused = client.post("/v1/pools/shifts/import", params={"time": "date"}, content=log)
        assert "'stakeholder'" in refused.json()["detail"]


def test_each_row_counts_one_and_times_may_be_numbers(ann):
    page = upload(ann, "step;who\n1;Ann\n2;Ann\n3;Ben\n")
    words = text_of(bring(ann, page, time="step"))
    assert "3 decisions of 2 people" in words
    assert "Next Ben Has received 1." in text_of(ann.open("/pools/rota-1"))


def test_an_untidy_log(ann):
    lines = ["Rota;;", ";;", "Tag;Reviewer;Stunden", "03.01.2026;Zoë;1,5", "04.01.2026; Ben ;2"]
    lines += ["05.01.2026;BEN;0,5", "06.01.2026;Zoë;", "Quelle: Team;;"]
    content = "\r\n".join(lines).encode("cp1252")
    page = upload(ann, content)
    assert "read as Windows-1252" in text_of(page)
    typed = {"time": "Tag", "amount": "Stunden"}
    asked = bring(ann, page, 422, **typed)
    assert "Are these the same? 'BEN' and 'Ben'" in text_of(asked)
    assert "“Names that are almost alike”" in text_of(asked)
    words = text_of(bring(ann, asked, alike="one"))
    assert "3 decisions of 2 people" in words
    assert "decimal commas" in words
    assert "evenhand-" not in words  # no folder of ours
    assert "Next Zoë Has received 1.5." in text_of(ann.open("/pools/rota-1"))


def test_a_question_is_asked_once(ann):
    page = upload(ann, "date,who\n2026-01-01,Ann\n2026-01-02,ANN\n")
    asked = bring(ann, page, 422)
    assert "Are these the same?" in text_of(asked)
    assert "2 decisions of 2 people" in text_of(bring(ann, asked))


def test_what_is_wrong_is_said_and_the_file_is_kept(ann):
    page = upload(ann, TIDY)
    wrong = bring(ann, page, 422, time="who")
    words = text_of(wrong)
    assert "“When”" in words or "'who'" in words
    assert "evenhand-" not in words
    wrong = bring(ann, wrong, 422, time="")
    assert "“When” is not said: choose the column." in text_of(wrong)
    wrong = bring(ann, wrong, 422, time="date", pool="small")
    assert "there is a pool 'small' already" in text_of(wrong).lower()
    wrong = bring(ann, wrong, 422, pool="")
    assert "cannot be called" in text_of(wrong)
    assert "3 decisions" in text_of(bring(ann, wrong, pool="good"))
    assert "is not kept any more" in text_of(bring(ann, wrong, 422, pool="again"))


def test_nothing_is_left_of_a_log_that_is_refused(ann):
    page = upload(ann, TIDY.replace("Ben,1", "Ben,-1"))
    assert "amounts below 0" in text_of(bring(ann, page, 422))
    ann.open("/pools/rota-1", 404)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty"),
        (b"  \n", "The file is empty"),
        (b"PK\x03\x04rest", "is not a workbook that can be read"),
        (b"PAR1rest", "too small to be a Parquet file"),
        (b"date,who\n", "has no rows"),
    ],
)
def test_files_that_are_no_log(ann, content, words):
    assert words in text_of(upload(ann, content, status=422))


def test_no_file(ann):
    fields = ann.form(ann.open("/new"), "/new/import")
    answer = ann.client.post("/new/import", data=fields)
    assert answer.status_code == 422
    assert "No file was chosen" in answer.text
    assert ann.client.post("/new/import", data={"mark": "x"}).status_code in (403, 422)


def test_a_file_is_only_for_whoever_sent_it_and_names_are_data(ann):
    rows = [
        f'2026-01-0{k + 1},"{name}"' for k, name in enumerate((HOSTILE.replace('"', '""'), LONG))
    ]
    page = upload(ann, "date,who\n" + "\n".join(rows) + "\n", name=f"{HOSTILE}.csv")
    assert "<img" not in page
    done = bring(ann, page, pool="odd")
    assert "2 decisions of 2 people" in text_of(done)
    for path in ("", "/standing", "/log", "/people/0", "/people/1", "/decisions/4"):
        page = ann.open(f"/pools/odd{path}")
        assert "<img" not in page
    assert HOSTILE[:30] in text_of(ann.open("/pools/odd/people/0"))


# A new pool from names.


def test_a_pool_of_names(ann):
    typed = {"pool": "on-call", "rule": "round_robin", "people": f" Dee \r\n\r\n{HOSTILE}\r\n"}
    words = text_of(ann.send("/new", "/new", **typed))
    assert "Next Dee" in words
    assert "everyone in the order of joining" in words
    assert "on-call" in ann.open("/")


def test_what_is_given_out_may_be_a_burden(ann):
    typed = {"pool": "on-call", "rule": "least_served", "people": "Dee\nEve", "given": "burden"}
    ann.send("/new", "/new", **typed)
    pool = ann.client.app.inner.state.service.rooms["on-call"].pool
    assert pool.definition.audit == {"lower_is_better": True}


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"people": " \n "}, "Nobody is named"),
        ({"people": "A\nB\nA"}, "'A' stands there twice"),
        ({"people": "x" * 201}, "1 to 200 visible characters"),
        ({"pool": "no spaces"}, "at most 64 letters"),
        ({"pool": "small"}, "there is a pool 'small' already"),
        ({"rule": "nonsense"}, "No rule was chosen"),
    ],
)
def test_what_does_not_do(ann, typed, words):
    given = {"pool": "new", "people": "A\nB"} | typed
    page = ann.send("/new", "/new", 422, **given)
    assert words.lower() in text_of(page).lower()
    assert f'value="{given["pool"]}"' in page  # nothing has to be typed twice


def test_only_owners_make_pools(tmp_path):
    with at_the_page(tmp_path, Role.DECIDER) as decider:
        assert "Make a pool" not in decider.open("/")
        decider.open("/new", 403)
        mark = decider.form(decider.open("/"), "/sign-out")["mark"]
        for path in ("/new", "/new/import", "/new/columns"):
            assert decider.client.post(path, data={"mark": mark}).status_code == 403


# Logs are kept for whoever sent them, for a while.

LOG = b"\xef\xbb\xbfday,who\n1,Ann\n"


def test_only_whoever_sent_it_gets_it():
    shelf = UploadShelf()
    key = shelf.put(LOG, "a.csv", "Ann")
    found = shelf.get(key, "Ann")
    assert (found.columns, found.rows, found.header_row) == (("day", "who"), (("1", "Ann"),), 1)
    for other, name in ((key, "Ben"), ("", "Ann"), ("../x", "Ann")):
        with pytest.raises(BadParameter, match="not kept any more"):
            shelf.get(other, name)
    shelf.drop(key)
    assert not found.path.exists()


def test_it_is_not_kept_for_ever(monkeypatch):
    shelf, now = UploadShelf(), [1000.0]
    monkeypatch.setattr(imports.time, "time", lambda: now[0])
    key = shelf.put(LOG, "a.csv", "Ann")
    path = shelf.get(key, "Ann").path
    now[0] += LASTS + 1
    with pytest.raises(BadParameter):
        shelf.get(key, "Ann")
    assert not path.exists()


def test_there_are_never_too_many():
    shelf = UploadShelf()
    keys = [shelf.put(LOG, "a.csv", "Ann") for _ in range(MOST + 3)]
    shelf.get(keys[-1], "Ann")
    with pytest.raises(BadParameter):
        shelf.get(keys[0], "Ann")


def test_other_encodings():
    shelf = UploadShelf()
    for content, note in (
        ("day,who\n1,Zoë\n".encode("utf-16"), False),
        ("day,who\n1,Zoë\n".encode("cp1252"), True),
    ):
        found = shelf.get(shelf.put(content, "a.csv", "Ann"), "Ann")
        assert found.rows == (("1", "Zoë"),)
        assert (found.note is not None) == note
