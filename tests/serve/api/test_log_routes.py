"""The log, judged and handed out: the same numbers as `evenhand audit` on what is exported."""

from __future__ import annotations

import io
import json
import tempfile
import threading

import pytest

from evenhand.auditing import audit
from serving import Process, client_of, new_store, small_service

BASE = "/v1/pools/small"
PARTS = ("verdict", "overall", "stakeholders", "over_time")


@pytest.fixture
def client(tmp_path):
    with small_service(tmp_path) as found:
        yield found


def busy(client, base=BASE):
    """A pool in which most things have happened."""
    for amount in (1, 2, 1):
        client.post(f"{base}/decisions", json={"amount": amount})
    client.post(f"{base}/events", json={"event": "join", "name": "Dan, Jr."})
    shares = [{"name": "Ann", "amount": 4}, {"name": "Cem"}]
    client.post(f"{base}/decisions", json={"shares": shares, "reason": 'they "asked"'})
    client.post(f"{base}/decisions/5/undo", json={})
    client.post(f"{base}/events", json={"event": "leave", "name": "Ben"})
    client.post(f"{base}/decisions", json={"count": 3})


def saved(client, folder, base=BASE):
    for name in ("export.csv", "roster.csv"):
        (folder / name).write_bytes(client.get(f"{base}/{name}").content)
    return str(folder / "export.csv"), str(folder / "roster.csv")


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("dates", [True, False])
def test_the_audit_is_that_of_the_exported_log(tmp_path, run, dates):
    """In Python and by the command line, to the last digit, with the same fingerprint."""
    with small_service(tmp_path, dates=dates) as client:
        busy(client)
        live = client.get(f"{BASE}/audit").json()
        log, roster = saved(client, tmp_path)
        page = client.get(f"{BASE}/audit.html")
    found = audit(log, stakeholder="stakeholder", time="time", amount="amount", roster=roster)
    there = found.to_json()
    assert {part: live.get(part) for part in PARTS} == {part: there.get(part) for part in PARTS}
    assert live["origin"]["fingerprint"] == found.origin["fingerprint"]
    columns = ("--stakeholder", "stakeholder", "--time", "time", "--amount", "amount")
    code, out, _ = run(log, *columns, "--roster", roster, "--json")
    assert code == 0
    assert json.loads(out)["origin"]["fingerprint"] == live["origin"]["fingerprint"]
    assert json.loads(out)["stakeholders"] == live["stakeholders"]
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src" not in page.headers["content-security-policy"]  # the page has its own
    assert "Dan, Jr." in page.text


def test_the_audit_is_as_the_pool_says_unless_asked_otherwise(tmp_path):
    audited = {"welfare": "rawls", "at_end": True}
    people = [{"name": "Ann", "entitlement": 3}, {"name": "Ben"}]
    with small_service(tmp_path, audit=audited, stakeholders=people) as client:
        refused = client.get(f"{BASE}/audit")
        assert (refused.status_code, "nothing to judge" in refused.json()["detail"]) == (422, True)
        client.post(f"{BASE}/decisions", json={"count": 4})
        found = client.get(f"{BASE}/audit").json()
        # Three of four are due to Ann: everybody has 1 for each unit.
        assert found["overall"]["score"] == 1.0
        assert found["scheme"].startswith("Rawls") or "rawls" in found["scheme"].lower()
        other = client.get(f"{BASE}/audit?welfare=utilitarian").json()
        assert other["scheme"] != found["scheme"]
        bad = client.get(f"{BASE}/audit?welfare=rals")
        assert (bad.status_code, "rawls" in bad.json()["detail"]) == (422, True)


def test_an_alarm_is_raised_for_whoever_is_passed_over(client):
    for _ in range(60):
        sent = {"shares": [{"name": "Ann"}], "reason": "a friend"}
        client.post(f"{BASE}/decisions", json=sent)
    found = client.get(f"{BASE}/alarms?alpha=0.05").json()
    assert {one["name"] for one in found["raised"]} == {"Ben", "Cem"}
    assert client.get(f"{BASE}/alarms?alpha=2").status_code == 422


def test_exports_say_who_got_what_without_what_was_undone(client):
    import polars as pl

    busy(client)
    table = pl.read_csv(io.BytesIO(client.get(f"{BASE}/export.csv").content))
    # Dan began at the mean of 0, 2 and 1, as what Ann had got was undone; Ben has left.
    expected = ["Ben", "Cem", "Ann", "Cem", "Dan, Jr.", "Cem", "Dan, Jr."]
    assert table["stakeholder"].to_list() == expected
    assert 5 not in table["decision"].to_list()
    state = client.get(f"{BASE}/state").json()["stakeholders"]
    for one in state:
        rows = table.filter(pl.col("stakeholder") == one["name"])
        assert rows["amount"].sum() == one["received"]
    reason = table.filter(~pl.col("by_rule"))["reason"].to_list()
    assert reason == ['they "asked"'] * 2
    parquet = client.get(f"{BASE}/export.parquet").content
    read = pl.read_parquet(io.BytesIO(parquet))
    assert read["amount"].to_list() == table["amount"].to_list()
    assert read.schema["by_rule"] == pl.Boolean
    roster = pl.read_csv(io.BytesIO(client.get(f"{BASE}/roster.csv").content))
    assert roster["name"].to_list() == ["Ann", "Ben", "Cem", "Dan, Jr."]


@pytest.mark.parametrize("names", [["'Ann'", "'Ben'"], ['the "other"', "#1, of 2; or 3"]])
def test_names_are_the_same_in_parquet(tmp_path, names):
    import polars as pl

    people = [{"name": name} for name in names]
    with small_service(tmp_path, stakeholders=people) as client:
        for _ in names:
            client.post(f"{BASE}/decisions", json={})
        read = pl.read_parquet(io.BytesIO(client.get(f"{BASE}/export.parquet").content))
    assert read["stakeholder"].to_list() == names


def test_standing_over_time(client):
    for _ in range(6):
        client.post(f"{BASE}/decisions", json={})
    found = client.get(f"{BASE}/over-time?points=3&name=Ann&name=Cem").json()
    # Ann, Ben, Cem, Ann, Ben, Cem: after two, four and six.
    assert found["times"] == [1, 3, 5]
    assert found["stakeholders"] == [
        {"name": "Ann", "received": [1.0, 2.0, 2.0]},
        {"name": "Cem", "received": [0.0, 1.0, 2.0]},
    ]
    assert found["mean"] == [2 / 3, 4 / 3, 2.0]
    assert len(client.get(f"{BASE}/over-time").json()["stakeholders"]) == 3
    assert client.get(f"{BASE}/over-time?name=Eve").status_code == 422


def test_the_mean_over_time_is_of_those_who_were_there(client):
    """Also of those who had received nothing; whoever left takes along what they received."""
    client.post(f"{BASE}/events", json={"event": "join", "name": "Dan"})
    for _ in range(2):  # Ann, Ben
        client.post(f"{BASE}/decisions", json={})
    client.post(f"{BASE}/events", json={"event": "leave", "name": "Ann"})
    slip = client.post(f"{BASE}/decisions", json={"amount": 5}).json()["number"]
    client.post(f"{BASE}/decisions/{slip}/undo", json={})
    client.post(f"{BASE}/decisions", json={"amount": 2})  # Cem
    found = client.get(f"{BASE}/over-time?name=Ann&name=Cem").json()
    assert found["mean"] == [1 / 4, 2 / 4, 3 / 3]
    assert [one["received"] for one in found["stakeholders"]] == [[1, 1, 1], [0, 0, 2]]


def test_a_forecast_says_its_assumptions(tmp_path):
    with small_service(tmp_path, dates=True) as client:
        found = client.get(f"{BASE}/forecast?name=Cem&per_day=1").json()
        assert found["turns_until"] == 2
        assert found["earliest"] < found["expected"] < found["latest"]
        assert any("1 decision a day" in words for words in found["assumptions"])
        assert found["sentence"].startswith("Cem is next after 2 turns, about ")
        unknown = client.get(f"{BASE}/forecast?name=Ann").json()
        assert (unknown["sentence"], unknown["expected"]) == ("Ann is next.", None)
        client.post(f"{BASE}/events", json={"event": "pause", "name": "Ann"})
        paused = client.get(f"{BASE}/forecast?name=Ann&per_day=1").json()
        assert (paused["turns_until"], paused["sentence"]) == (
            None,
            "Ann is not eligible: it is paused.",
        )


LOG = "day,who,doses\n2026-01-05,Ann,2\n2026-01-01,Ben,5\n2026-01-09,Cem,0\n2026-01-05,Ann,2\n"


def imported(client, log=LOG, **more):
    columns = {"stakeholder": "who", "time": "day", "amount": "doses", **more}
    return client.post("/v1/pools/old/import", params=columns, content=log)


def test_an_existing_log_counts_from_the_first_day(client):
    client.post("/v1/pools", json={"name": "old"})
    answer = imported(client)
    assert answer.status_code == 201, answer.text
    assert (answer.json()["decisions"], answer.json()["stakeholders"]) == (3, 3)
    state = client.get("/v1/pools/old/state").json()["stakeholders"]
    assert [(one["name"], one["received"]) for one in state] == [
        ("Cem", 0.0),
        ("Ann", 4.0),
        ("Ben", 5.0),
    ]
    log = client.get("/v1/pools/old/decisions").json()["decisions"]
    assert [one["at"][:10] for one in log] == ["2026-01-05", "2026-01-05", "2026-01-01"]
    taken = client.post("/v1/pools/old/decisions", json={}).json()
    assert (taken["number"], taken["shares"][0]["name"]) == (8, "Cem")
    assert "new pool" in imported(client).json()["detail"]


def test_an_import_with_one_key_happens_once(client):
    client.post("/v1/pools", json={"name": "old"})
    client.headers["idempotency-key"] = "mine"
    first = imported(client)
    assert first.status_code == 201, first.text
    assert imported(client).json() == first.json()
    assert client.get("/v1/pools/old").json()["decisions"] == 3
    other = imported(client, decimal=".")  # read in another way: not the same request
    assert "was used for another request" in other.json()["detail"]


def test_what_was_imported_is_nobodys_rule_and_what_is_odd_is_noted(client):
    client.post("/v1/pools", json={"name": "old"})
    odd = b"day,who,doses\n2021-01-01,Ann,1\n2021-01-02,ann,1\n2021-01-03,Ben,\n"
    answer = imported(client, odd).json()
    assert any("Ann" in note and "ann" in note for note in answer["notes"])
    assert any("empty" in note for note in answer["notes"])
    rows = client.get("/v1/pools/old/export.csv").text.splitlines()
    place = rows[0].split(",").index("by_rule")
    assert [row.split(",")[place] for row in rows[1:]] == [""] * (len(rows) - 1)
    first = client.get("/v1/pools/old/events").json()["entries"][-1]["number"]
    assert client.get(f"/v1/pools/old/decisions/{first}").json()["by_rule"] is None
    client.post("/v1/pools/old/decisions", json={})
    assert client.get("/v1/pools/old/export.csv").text.splitlines()[-1].split(",")[place] == "true"


def test_a_pool_that_all_left_and_somebody_joined_later_is_audited(tmp_path):
    """Weeks went by with nobody there, which only the table of other questions looks at."""
    with small_service(tmp_path, dates=True, stakeholders=[{"name": "Ann"}]) as client:

        def at(day, path, **more):
            done = client.post(f"{BASE}/{path}", json={**more, "at": f"2091-{day}T12:00:00"})
            assert done.is_success, done.text

        at("01-05", "decisions")
        at("02-05", "decisions")
        at("02-06", "events", event="leave", name="Ann")
        at("03-01", "events", event="join", name="Ben")
        at("03-20", "decisions")
        found = client.get(f"{BASE}/audit")
        assert found.status_code == 200, found.text
        assert found.json()["assessments"] == 3
        weeks = client.get(f"{BASE}/audit?every=week").json()
        assert any("nobody was there, by the roster's dates" in note for note in weeks["notes"])


def test_of_a_burden_those_are_worst_off_who_had_most(client):
    busy(client)
    good, bad = (
        client.get(f"{BASE}/audit", params=asked).json()["verdict"]
        for asked in ({}, {"lower_is_better": "true"})
    )
    worst = [
        words.partition("Treated worst overall w")[2].partition(",")[0] for words in (good, bad)
    ]
    assert worst[0] != worst[1]


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize(
    ("log", "more", "words"),
    [
        ("", {}, "empty"),
        (LOG, {"time": "date"}, "'date'"),
        (LOG.replace("5,Ann", "x,Ann"), {}, "2026-01-0x"),
        (LOG.replace("5\n", "-5\n"), {}, "below 0"),
        (LOG.replace("2026-01-0", ""), {}, "plain numbers"),
        (LOG.replace("2026", "0026"), {}, "years"),
        ("day,who\n", {}, ""),
        ("\x00\x01", {}, ""),
    ],
)
def test_a_log_that_cannot_be_imported_leaves_nothing_behind(client, log, more, words):
    client.post("/v1/pools", json={"name": "old"})
    before = client.get("/v1/pools/old").json()
    answer = imported(client, log, **more)
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["detail"]
    assert "evenhand-" not in answer.json()["detail"]  # no folder of ours
    assert client.get("/v1/pools/old").json() == before
    assert client.post("/v1/pools/old/decisions", json={}).status_code == 422  # nobody is there


@pytest.mark.system  # takes seconds
def test_a_stream_of_what_happens_ends_when_the_service_stops(tmp_path):
    import httpx2 as httpx

    with small_service(tmp_path):
        pass
    service = Process(tmp_path / "decisions.db", "--new-token", "listener")
    headers = {"authorization": f"Bearer {service.secret}"}
    heard, ready = [], threading.Event()

    def listen():
        url = f"{service.address}{BASE}/events/stream?cursor=3"
        with httpx.stream("GET", url, headers=headers, timeout=60) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    heard.append(json.loads(line.removeprefix("data: ")))
                    ready.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert ready.wait(60)
    for _ in range(3):
        done = httpx.post(f"{service.address}{BASE}/decisions", json={}, headers=headers)
        assert done.status_code == 201
    assert service.stop() == 0
    listener.join(60)
    assert [one["number"] for one in heard] == [4, 5, 6, 7]
    assert heard[-1]["body"]["event"] == "decide"
    store = new_store(tmp_path)
    assert store.snapshot("small", 99)[0] == 7
    with client_of(store) as client:
        assert client.get(BASE).json()["decisions"] == 3
    store.close()


def test_entitlements_count_as_of_each_moment(tmp_path):
    """Ben is entitled to twice as much from the third decision on, and Cem, who gets nothing, is
    entitled to half of Ann's share."""
    people = [{"name": "Ann"}, {"name": "Ben"}, {"name": "Cem", "entitlement": 0.5}]
    with small_service(tmp_path, stakeholders=people, audit={"welfare": "rawls"}) as client:
        for who in ("Ann", "Ben"):
            sent = {"shares": [{"name": who}], "reason": "as it was", "at": 1 + (who == "Ben")}
            assert client.post(f"{BASE}/decisions", json=sent).status_code == 201
        event = {"event": "entitle", "name": "Ben", "entitlement": 2, "at": 2.5}
        assert client.post(f"{BASE}/events", json=event).status_code == 201
        sent = {"shares": [{"name": "Ann"}], "reason": "again", "at": 3}
        client.post(f"{BASE}/decisions", json=sent)
        live = client.get(f"{BASE}/audit").json()
        log, roster = saved(client, tmp_path)
        over = client.get(f"{BASE}/over-time?name=Ben&points=3").json()
    columns = {"stakeholder": "stakeholder", "time": "time", "amount": "amount"}
    found = audit(log, **columns, roster=roster, entitlement="entitlement", welfare="rawls")
    assert live["origin"]["fingerprint"] == found.origin["fingerprint"]
    assert live["overall"] == found.to_json()["overall"]
    # Per unit: Ann 1, 1, 2; Ben 0, 1 and then 1 / 2. The mean is all given over all entitled.
    ben = next(one for one in live["stakeholders"] if one["name"] == "Ben")
    assert ben["final_unfairness"] == pytest.approx(0.5 - 3 / 3.5)
    assert over["stakeholders"][0]["received"] == [0.0, 1.0, 1.0]


def test_requests_count_where_only_those_who_ask_are_eligible(tmp_path):
    with small_service(tmp_path, by_request=True) as client:
        for who, amount in (("Ann", 4), ("Ben", 1)):
            event = {"event": "ask", "name": who, "amount": amount, "at": 0}
            assert client.post(f"{BASE}/events", json=event).status_code == 201
        for at in (1, 2):
            assert client.post(f"{BASE}/decisions", json={"at": at}).status_code == 201
        sent = {"shares": [{"name": "Cem", "amount": 3}], "reason": "in need", "at": 3}
        assert client.post(f"{BASE}/decisions", json=sent).status_code == 201
        live = client.get(f"{BASE}/audit").json()
        log, roster = saved(client, tmp_path)
        asked = client.get(f"{BASE}/requests.csv").text
    # Cem had not asked: what it was given counts as asked for then.
    assert asked.splitlines() == [
        "time,stakeholder,asked",
        "0.0,Ann,4.0",
        "0.0,Ben,1.0",
        "3.0,Cem,3.0",
    ]
    (tmp_path / "requests.csv").write_text(asked)
    columns = {"stakeholder": "stakeholder", "time": "time", "amount": "amount"}
    requests = str(tmp_path / "requests.csv")
    found = audit(log, **columns, roster=roster, requests=requests, asked="asked")
    assert live["origin"]["fingerprint"] == found.origin["fingerprint"]
    # Met: Ann 1 of 4, Ben 1 of 1, Cem 3 of 3; in all 5 of 8.
    ann = next(one for one in live["stakeholders"] if one["name"] == "Ann")
    assert ann["final_unfairness"] == pytest.approx(1 / 4 - 5 / 8)


def test_a_forecast_of_a_pool_that_is_decided_ahead_begins_at_its_end(tmp_path):
    """The next turn cannot come before those that are taken already."""
    with small_service(tmp_path, dates=True) as client:
        for day in ("2190-01-01", "2190-01-08"):
            assert client.post(f"{BASE}/decisions", json={"at": day}).status_code == 201
        found = client.get(f"{BASE}/forecast?name=Cem&per_day=1").json()
        assert (found["turns_until"], found["expected"]) == (0, "2190-01-09T00:00:00Z")
        assert client.get(f"{BASE}/forecast?name=Cem").json()["expected"] > "2190-01-08"


@pytest.mark.parametrize("count", [2, 7])
def test_one_decision_a_day_is_a_rate_of_one_a_day(tmp_path, count):
    with small_service(tmp_path, dates=True) as client:
        for day in range(1, count + 1):
            client.post(f"{BASE}/decisions", json={"at": f"2190-01-0{day}"})
        found = client.get(f"{BASE}/forecast?name=Ann").json()
    assert any(words.startswith("1 decision a day") for words in found["assumptions"])


def test_a_part_of_the_log_is_judged(tmp_path):
    with small_service(tmp_path) as client:
        for _ in range(6):
            client.post(f"{BASE}/decisions", json={})
        whole = client.get(f"{BASE}/audit").json()
        part = client.get(f"{BASE}/audit?since=3").json()
        assert whole["overall"] != part["overall"]
        assert "'since'" in client.get(f"{BASE}/audit?since=soon").json()["detail"]


def test_an_audit_calls_the_log_by_the_name_of_its_pool(tmp_path):
    """And not by a folder that is gone: the page is sent to others, and is the same each time."""
    with small_service(tmp_path) as client:
        client.post(f"{BASE}/decisions", json={})
        one, two = (client.get(f"{BASE}/audit") for _ in range(2))
        page = client.get(f"{BASE}/audit.html").text
        wrong = client.get(f"{BASE}/audit?every=month").json()["detail"]
    name = f"{BASE.rpartition('/')[2]}.csv"
    assert one.json()["log"] == name
    assert [file["path"] for file in one.json()["origin"]["files"]] == [name]
    assert one.json() == two.json()
    assert f"<title>Fairness over time: {name}" in page
    for words in (one.text, page, wrong):
        assert tempfile.gettempdir() + "/evenhand-" not in words


def test_whom_a_note_says_to_leave_out_can_be_left_out(client):
    client.post("/v1/pools", json={"name": "old"})
    odd = b"who,day,doses\nAnn,2021-01-01,1\nBen,2021-01-03,\nCem,2021-01-03,2\n"
    refused = imported(client, odd, exclude=["Zoe"])
    assert refused.status_code == 422
    assert "'Zoe'" in refused.json()["detail"]
    answer = imported(client, odd, exclude=["Ben"]).json()
    assert answer["stakeholders"] == 2
    assert not any("Ben" in note for note in answer["notes"])


def test_a_forecast_says_minutes_where_days_say_nothing_and_leaves_out_what_was_undone(tmp_path):
    with small_service(tmp_path, dates=True) as client:
        soon = client.get(f"{BASE}/forecast?name=Ann&per_day=1440").json()
        first, last = (soon[key][:16].replace("T", " ") for key in ("earliest", "latest"))
        assert soon["sentence"].endswith(f"(80% of the time {first} to {last}).")
        late = client.get(f"{BASE}/forecast?name=Ann&per_day=0.1").json()
        assert late["sentence"].endswith(
            f"(80% of the time {late['earliest'][:10]} to {late['latest'][:10]})."
        )
        for _ in range(2):
            number = client.post(f"{BASE}/decisions", json={}).json()["number"]
        client.post(f"{BASE}/decisions/{number}/undo", json={})
        assert client.get(f"{BASE}/forecast?name=Ann").json()["expected"] is None
