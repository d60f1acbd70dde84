"""Command lines of every verb: options that fit, options that do not, and files of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from fuzzing.damage import HUGE_TEXTS, damaged, damages, rarely
from fuzzing.expressions import GOOD as GOOD_EXPRESSIONS
from fuzzing.expressions import expressions
from fuzzing.saved_files import WATCHED, saved_files, states
from fuzzing.scheme_files import PARTS, scheme_files
from fuzzing.tables import EDGE_TIMES, GOOD_TIMES, ODD_NAMES, Bomb, Table, json_lines, tables
from fuzzing.trial import SPECIAL, Content, Plain, Trial

ODD_PATHS = [
    *[*SPECIAL] * 8,
    *("missing.csv", "missing/x", "", ".", "..", "~nobody/x", "x" * 300, "y/" * 1500, "log.csv/x"),
    *("nul\0byte", "\udcff.csv", "bell\a.csv", "new\nline.csv"),
    *("/proc/self/mem", "*.csv", "[", "**/*", "http://localhost:1/x.csv", "s3://x/y.csv", "a://b"),
    *("duckdb:///missing", "duckdb:///folder", "duckdb:///fifo", "sqlite:///missing", "sqlite://"),
    *(
        "sqlite:///folder",
        "duckdb:///:memory:",
        "postgresql://localhost:1/x",
        "postgresql://",
        "x.gz",
    ),
    *("postgresql://localhost:99999999/x", "postgresql://[::1/x", "duckdb:///" + "x" * 300),
]
REFUSED_WHOLES = [
    *("0", "-1", "x", "", "1.5", "nan", "inf", "1e3", "٣", "0x10", "9" * 5000),
    *("9223372036854775808", "99999999999999999999999"),
]
# These are whole numbers to Python: as an amount of work they are done, however long it takes.
ODD_WHOLES = [*REFUSED_WHOLES, "1_0", " 1 ", "1000000", "100000000", "4294967296"]
ODD_FLOATS = [
    *(
        "nan",
        "inf",
        "-inf",
        "1e400",
        "-1",
        "0",
        "-0.0",
        "1e308",
        "1e-320",
        "x",
        "",
        "٣",
        "9" * 5000,
    ),
]
ODD_TEXTS = [
    *("", " ", "x", "\0", "\udcff", "--json", "-", "é", "%", "{}", "[red]", "\x1b[31m"),
    *HUGE_TEXTS,
]
SMALL = ("doughnuts", "--stakeholders", "2", "--horizon", "2")

Files = dict[str, Content]
Drawn = Callable[[st.DrawFn, Files, str], Sequence[str]]


# What an option's value is to be: "good", "odd", or "any" of the two.
def _value(option: str, good: Sequence[str], odd: Sequence[str], one_in: int = 5) -> Drawn:
    """An option with a value that fits, or one time in so many with one that does not."""

    def drawn(draw: st.DrawFn, files: Files, mood: str) -> Sequence[str]:
        if mood == "good" and not good:
            return ()
        fits = good and mood != "odd" and (mood == "good" or not rarely(draw, one_in))
        return (option, draw(st.sampled_from(list(good if fits else odd))))

    return drawn


def _flag(option: str) -> Drawn:
    return lambda draw, files, mood: (option,)


def _text(option: str, good: Sequence[str], texts: st.SearchStrategy[str]) -> Drawn:
    def drawn(draw: st.DrawFn, files: Files, mood: str) -> Sequence[str]:
        return (option, draw(st.sampled_from(good) if mood == "good" else texts))

    return drawn


def _file(
    option: str, name: str, good: bytes, contents: st.SearchStrategy[Any], odd: Sequence[str]
) -> Drawn:
    """An option that names a file, mostly one that is there."""

    def drawn(draw: st.DrawFn, files: Files, mood: str) -> Sequence[str]:
        if mood != "good" and rarely(draw, 3 if mood == "odd" else 8):
            return (option, draw(st.sampled_from(list(odd))))
        files[name] = Plain(good) if mood == "good" else draw(contents)
        return (option, name)

    return drawn


GOOD_SCHEME = b"welfare = 'rawls'\ntemporal = 'mean'\n"
GOOD_ROSTER = "name\nA\nB\nC\nNorth\nSüd\n".encode()
GOOD_NEEDS = "name,need\nA,1\nB,2\nC,3\nNorth,1\nSüd,2\n".encode()


def _state(draw: st.DrawFn, files: Files, mood: str) -> Sequence[str]:
    if mood == "good":
        return ("--state", "fresh.state")
    if rarely(draw, 2):
        return ("--state", draw(st.sampled_from(ODD_PATHS)))
    files["state"] = draw(states())
    return ("--state", "state")


def _run(draw: st.DrawFn, files: Files, mood: str) -> Sequence[str]:
    if mood == "good":
        return ("--out", "new.run")
    if rarely(draw, 3):
        return ("--out", draw(st.sampled_from(ODD_PATHS)))
    files["fair.run"] = draw(saved_files())
    return ("--out", "fair.run")


small_tables = tables(("csv", "csv", "parquet", "jsonl"))
rosters = st.one_of(
    small_tables,
    st.sampled_from(
        [
            b"name\nA\nB\nC\nNorth\n",
            b"name,from,until\nA,2021-01-01,\nB,,2021-02-01\n",
            b"",
            b"name\n",
        ]
    ).map(Plain),
    st.sampled_from(EDGE_TIMES).map(
        lambda time: Plain(f"name,from,until\nA,2021-01-01,{time}\nB,{time},\n".encode())
    ),
)
entitlements = st.one_of(
    small_tables,
    st.sampled_from(
        [
            b"name,need\nA,1\nB,2\nC,3\nNorth,1\nS\xc3\xbcd,2\n",
            b"A,B\n1,1e308\n",
            b"n,e\nA,-1\nB,nan\n",
        ]
    ).map(Plain),
)
COLUMN_NAMES = ["who", "day", "much", "team", "need", "run"]
ODD_COLUMNS = ["nobody", "WHO", "", "1", "who", "day", *ODD_TEXTS[:9]]
WELFARES, TEMPORALS = list(PARTS["welfare"]), list(PARTS["temporal"])
EVERY = ["day", "week", "month", "quarter", "year", "1", "2"]

QUESTION: Mapping[str, Drawn] = {
    "every": _value("--every", EVERY, [*ODD_WHOLES, "decade", "days"]),
    "after-each": _value("--after-each", ["1", "5", "100"], ODD_FLOATS),
    "each-event": _flag("--each-event"),
    "at-end": _flag("--at-end"),
    "welfare": _value("--welfare", WELFARES, ODD_TEXTS, 8),
    "temporal": _value("--temporal", TEMPORALS, ODD_TEXTS, 8),
    "scheme": _file("--scheme", "scheme.toml", GOOD_SCHEME, scheme_files, ODD_PATHS),
    "max": _value("--max-unfairness", ["0", "1", "1e6"], ODD_FLOATS),
    "min": _value("--min-score", ["0", "-1e6", "5"], ODD_FLOATS),
}
AUDIT: Mapping[str, Drawn] = {
    **QUESTION,
    "where": _text("--where", GOOD_EXPRESSIONS, expressions),
    "when": _text("--when", GOOD_EXPRESSIONS, expressions),
    "until": _value("--until", GOOD_TIMES, EDGE_TIMES, 2),
    "roster": _file("--roster", "roster.csv", GOOD_ROSTER, rosters, ODD_PATHS),
    "entitlement": _file(
        "--entitlement", "need.csv", GOOD_NEEDS, entitlements, [*ODD_PATHS, "need", "much"]
    ),
    "only": _value("--only", ["A", "B"], ODD_NAMES),
    "exclude": _value("--exclude", ["A", "C"], ODD_NAMES),
    "cumulative": _flag("--cumulative"),
    "stock": _flag("--stock"),
    "lower": _flag("--lower-is-better"),
    "unweighted": _flag("--unweighted"),
    "out-of": _value("--out-of", ["need"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "within-period": _flag("--within-period"),
    "asked": _value("--asked", ["need"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "requests": _value("--requests", ["log.csv"], ODD_PATHS),
    "judge-requests": _value(
        "--judge-requests", ["share_met", "shortfall", "while-waiting"], ODD_TEXTS
    ),
    "from": _value("--from", ["day"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "to": _value("--to", ["need", "run"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "within": _value("--within", ["30d", "2w", "5"], ["d", "-1d", "1e400", *ODD_TEXTS]),
    "longest-open": _flag("--longest-open"),
    "newcomers": _value("--newcomers", ["mean", "least", "by-time"], ODD_TEXTS),
    "tolerance": _value("--tolerance", ["5%", "2"], ["%", "-5%", *ODD_FLOATS]),
    "reference": _value("--reference", ["red"], ODD_TEXTS),
    "since": _value("--since", GOOD_TIMES, EDGE_TIMES, 2),
    "before": _value("--before", GOOD_TIMES, EDGE_TIMES, 2),
    "group": _value("--group", ["team"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "by": _value("--by", ["group", "team", "stakeholder"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "run": _value("--run", ["run", "team"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "time-format": _value(
        "--time-format", ["%Y-%m-%d"], ["%", "%Q", "%d/%m/%Y", "%s", "%Z", "x", *ODD_TEXTS]
    ),
    "time-unit": _value("--time-unit", ["s", "ms", "number"], ["year", "excel", "ns", *ODD_TEXTS]),
    "decimal": _value("--decimal", [".", ","], [";", *ODD_TEXTS]),
    "missing": _value(
        "--missing", ["*", "x=1-4"], ["=", "x=4-1", "x=1-9e999", "0=0-0", *ODD_TEXTS]
    ),
    "sheet": _value("--sheet", ["Data", "1"], ["Dat", "2", "-1", *ODD_TEXTS]),
    "header-row": _value("--header-row", ["1"], ["0", "2", "1-2", "2-1", "1-9", *ODD_WHOLES]),
    "wide": _value("--wide", ["time", "stakeholder"], ["x", *ODD_TEXTS]),
    "time-from-name": _flag("--time-from-name"),
    "merge-names": _flag("--merge-names"),
    "encoding": _value(
        "--encoding",
        ["utf-8", "latin-1"],
        ["utf-7", "utf-16", "rot13", "base64", "idna", "punycode", "mbcs", "undefined", *ODD_TEXTS],
    ),
    "table": _value("--table", ["log", "seen"], ["main.log", "broken", "loads", *ODD_TEXTS], 8),
    "engine": _value("--engine", ["duckdb"], ODD_TEXTS),
    "json": _flag("--json"),
    "csv": _value("--csv", ["sheets"], ODD_PATHS),
    "out": _value("--out", ["report.html"], ODD_PATHS),
}
# Of an audit, what a replay takes too; and what it takes beside.
NOT_REPLAYED = (
    *("max", "min", "stock", "out-of", "within-period", "from", "to", "within", "longest-open"),
    *("tolerance", "reference", "before", "run", "csv"),
)
GOOD_NEXT = b"day,much\n2031-01-01,5\n2031-02-01,7\n"
REPLAY: Mapping[str, Drawn] = {
    **{name: drawn for name, drawn in AUDIT.items() if name not in NOT_REPLAYED},
    "rule": _value(
        "--rule",
        ["least_served", "even_out", "half_life:7d", "deadline:3", "lottery", "virtual_time"],
        ["first_come", "half_life", "half_life:0", "deadline:x", "lottery:-1", ":", *ODD_TEXTS],
    ),
    "seed": _value("--seed", ["0", "7"], ODD_WHOLES, 2),
    "next": _file("--next", "next.csv", GOOD_NEXT, small_tables, ODD_PATHS),
    "out": _value("--out", ["page.html"], [*ODD_PATHS, "x.txt", "new.csv"]),
}
MONITOR: Mapping[str, Drawn] = {
    **QUESTION,
    "roster": _file("--roster", "roster.csv", GOOD_ROSTER, rosters, ODD_PATHS),
    "entitlement": _file("--entitlement", "need.csv", GOOD_NEEDS, entitlements, ODD_PATHS),
    "id": _value("--id", ["id"], ODD_TEXTS),
    "state": _state,
    "over": _flag("--over"),
    "strict": _flag("--strict"),
    "quiet": _flag("--alerts-only"),
}
WORLD: Mapping[str, Drawn] = {
    "stakeholders": _value("--stakeholders", ["2"], ODD_WHOLES, 2),
    "horizon": _value("--horizon", ["2"], ODD_WHOLES, 2),
    "presence": _value("--presence", ["0.8", "1"], ["0.5,0.5,0.5", ",", "1.5", *ODD_FLOATS], 2),
}
LEARNING: Mapping[str, Drawn] = {
    **WORLD,
    "recipe": _value("--recipe", ["paper", "best"], ODD_TEXTS, 2),
    "seeds": _value("--seeds", ["1", "2"], ODD_WHOLES, 2),
    "seed": _value("--seed", ["0", "7"], ODD_WHOLES, 2),
    "steps": _value("--steps", ["100"], [*REFUSED_WHOLES, "100000000000000000000"], 2),
    "tabular": _flag("--tabular"),
    "memory": _value("--memory", ["full", "min", "clock", "of_status"], ODD_TEXTS, 2),
    "proposal": _value("--proposal", ["above", "all", "none", "around"], ODD_TEXTS, 2),
    "json": _flag("--json"),
}
TRAIN: Mapping[str, Drawn] = {
    **LEARNING,
    "method": _value("--method", ["full", "fairqcm"], ["oracle", *ODD_TEXTS], 2),
    "out": _run,
    "track": _value(
        "--track", ["curve.csv", "curve.jsonl"], [*ODD_PATHS, "x.txt", "mlflow:", ":"], 2
    ),
}
COMPARE: Mapping[str, Drawn] = {
    **LEARNING,
    "methods": _value("--methods", ["oracle,random"], [",", "full,full", "full,x", *ODD_TEXTS], 2),
    "out": _value("--out", [], [path for path in ODD_PATHS if path]),
    "ray": _value("--ray", [], ["", "x", "nowhere:x", "ray://", "\0"]),
}
# Worlds that take no time; the others only with what they do not take.
worlds = st.one_of(
    st.just(SMALL),
    st.just(SMALL),
    st.just((*SMALL, "--episodes")),
    st.tuples(st.sampled_from(["dougnuts", *ODD_TEXTS])),
    st.tuples(
        st.sampled_from(["lending", "lending_gaussian", "vaccines", "waiting_list"]),
        st.just("--presence"),
        st.sampled_from(["0.5", "x", "nan"]),
    ),
)


TELLING = ("where", "until", "every", "scheme", "state", "out", "csv", "roster", "track", "chart")


def some_of(options: Mapping[str, Drawn], least: int, most: int) -> st.SearchStrategy[list[str]]:
    """Names of options, none twice; those with most to get wrong come more often."""
    names = [name for name in options for _ in range(4 if name in TELLING else 1)]
    return st.lists(st.sampled_from(names), min_size=least, max_size=most, unique=True)


def _drawn(
    draw: st.DrawFn, files: Files, options: Mapping[str, Drawn], least: int, most: int
) -> list[str]:
    """Some options: all that fit, one that does not among them, or as it happens.

    What is refused hides what comes after it: so mostly there is one odd thing at a time.
    """
    chosen = draw(some_of(options, least, most))
    moods = draw(st.sampled_from(["good", "one", "one", "one", "any"]))
    first = {"good": "good", "one": "odd", "any": "any"}[moods]
    rest = "any" if moods == "any" else "good"
    found: list[str] = []
    for k, name in enumerate(chosen):
        found += options[name](draw, files, rest if k else first)
        if name == "until" and "every" not in chosen and rarely(draw, 2):
            found += ["--every", draw(st.sampled_from(EVERY))]
    return found


def _terminal(draw: st.DrawFn) -> dict[str, Any]:
    encoding = draw(st.sampled_from(["utf-8"] * 57 + ["ascii", "ascii", "latin-1"]))
    return {"encoding": encoding, "full": rarely(draw, 60)}


def _address(name: str) -> str:
    base = {"log.duckdb": "duckdb:///log.duckdb", "log.sqlite": "sqlite:///log.sqlite"}
    return base.get(name, name)


COLUMNS = ("--stakeholder", "who", "--time", "day", "--amount", "much")


@st.composite
def replays(draw: st.DrawFn) -> Trial:
    files: Files = {}
    odd = draw(st.sampled_from(["options", "options", "options", "table", "any"]))
    log = _named(draw, files, draw(tables(odd=odd in ("table", "any"))), "log", odd)
    columns = [*COLUMNS, *(("--table", "log") if "://" in log else ())]
    more = _drawn(draw, files, REPLAY, 1, 3)
    return Trial("replay", ("replay", log, *columns, *more), files, **_terminal(draw))


@st.composite
def audits(draw: st.DrawFn) -> Trial:
    files: Files = {}
    odd = draw(st.sampled_from(["options"] * 5 + ["table"] * 4 + ["path", "columns", "any", "any"]))
    logs = []
    for k in range(draw(st.sampled_from([1] * 15 + [2, 3]))):
        if odd == "path" or (odd == "any" and rarely(draw, 12)):
            logs.append(draw(st.sampled_from(ODD_PATHS)))
        else:
            table = draw(tables(odd=odd in ("table", "any")))
            logs.append(_named(draw, files, table, "other" if k else "log", odd))
    columns = list(COLUMNS)
    if odd == "columns" or (odd == "any" and rarely(draw, 5)):
        columns[1 + 2 * draw(st.integers(0, 2))] = draw(
            st.sampled_from([*[*COLUMN_NAMES] * 2, *ODD_COLUMNS])
        )
        columns = columns[: draw(st.sampled_from([6, 6, 6, 4, 2, 0]))]
    if any("://" in log for log in logs):
        table = draw(st.sampled_from([*["log", "seen"] * 12, "broken", "endless", "loads"]))
        columns += ["--table", table]
    more = _drawn(draw, files, AUDIT, 1, 3) if odd in ("options", "any") else []
    terminal = _terminal(draw)
    return Trial("audit", ("audit", *logs, *columns, *more), files, **terminal)


def _named(draw: st.DrawFn, files: Files, table: Table, stem: str, odd: str) -> str:
    """What the log is called; some are not what their names say."""
    kind = table.format
    if odd != "options" and rarely(draw, 12):
        kind = draw(
            st.sampled_from(
                ["csv", "jsonl", "parquet", "csv.gz", "duckdb", "sqlite", "xlsx", "swf"]
            )
        )
    name = f"{stem}.{kind}"
    files[name] = table
    if odd == "table" and rarely(draw, 150):
        name = f"{stem}.csv.gz"
        files[name] = Bomb()
    bases = ("duckdb", "sqlite")
    return f"{kind}:///{name}" if name.endswith(bases) else name


@st.composite
def monitors(draw: st.DrawFn) -> Trial:
    files: Files = {}
    odd = draw(st.sampled_from(["options", "options", "lines", "lines", "state", "state", "any"]))
    watched = list(WATCHED)
    if odd == "state":
        files["state"] = draw(states())
        watched += ["--state", "state"]
    if odd == "any" and rarely(draw, 2):
        watched = watched[4:]
    more = _drawn(draw, files, MONITOR, 1, 3) if odd in ("options", "any") else []
    stdin = None if rarely(draw, 40) else draw(json_lines(odd=odd in ("lines", "any")))
    return Trial("monitor", ("monitor", *watched, *more), files, stdin, **_terminal(draw))


def _chart(draw: st.DrawFn, files: Files, mood: str) -> Sequence[str]:
    quick = ("--memories", "--time-limit", "1")
    return (*quick, *_value("--chart", ["chart.html"], ODD_PATHS)(draw, files, mood))


@st.composite
def plans(draw: st.DrawFn) -> Trial:
    files: Files = {}
    options = {
        **WORLD,
        "discount": _value("--discount", ["0.9"], ODD_FLOATS, 2),
        "scheme": _file("--scheme", "scheme.toml", GOOD_SCHEME, scheme_files, ODD_PATHS),
        "save": _value("--save", ["best.plan"], ODD_PATHS, 3),
        "chart": _chart,
        "memories": lambda *_: ("--memories", "--time-limit", "1"),
        "limit": _value("--time-limit", ["1"], ODD_FLOATS, 2),
        "json": _flag("--json"),
    }
    arguments = ("plan", *draw(worlds), *_drawn(draw, files, options, 1, 3))
    return Trial("plan", arguments, files, **_terminal(draw))


@st.composite
def trainings(draw: st.DrawFn) -> Trial:
    files: Files = {}
    more = _drawn(draw, files, TRAIN, 1, 3)
    arguments = ("train", *draw(worlds), "--steps", "100", *more)
    return Trial("train", arguments, files, **_terminal(draw))


@st.composite
def comparisons(draw: st.DrawFn) -> Trial:
    files: Files = {}
    quick = ("--steps", "100", "--methods", "oracle,random", "--seeds", "1")
    more = _drawn(draw, files, COMPARE, 1, 3)
    return Trial("compare", ("compare", *draw(worlds), *quick, *more), files, **_terminal(draw))


@st.composite
def evaluations(draw: st.DrawFn) -> Trial:
    files: Files = {}
    options = {
        "episodes": _value("--episodes", ["1"], REFUSED_WHOLES, 2),
        "seed": _value("--seed", ["0"], ODD_WHOLES, 2),
        "log": _value("--log", ["fair.parquet"], ODD_PATHS, 2),
        "json": _flag("--json"),
    }
    if rarely(draw, 5):
        named = draw(st.sampled_from(ODD_PATHS))
    else:
        named = "saved"
        files[named] = draw(saved_files(("policy", "run", "run", "plan")))
    more = _drawn(draw, files, options, 0, 2)
    return Trial(
        "evaluate", ("evaluate", named, "--episodes", "1", *more), files, **_terminal(draw)
    )


@st.composite
def others(draw: st.DrawFn) -> Trial:
    """Verbs that take long when they work: only such as must be refused."""
    verb = draw(st.sampled_from(["demo", "reproduce", "list", "demo", "reproduce"]))
    if verb == "demo":
        more = ["--out", draw(st.sampled_from(UNWRITABLE))]
    elif verb == "reproduce":
        figure = draw(st.sampled_from(["tabular", "doughnuts", "all", "fig", *ODD_TEXTS]))
        more = [figure]
        more += draw(
            st.sampled_from(
                [["--out", path] for path in UNWRITABLE if path not in WRITABLE_FOLDERS]
                + [["--seeds", seeds] for seeds in REFUSED_WHOLES]
            )
        )
        more += draw(st.sampled_from([[], ["--quick"], ["--json"]]))
    else:
        more = list(
            draw(st.sampled_from([(), ("--json",), ("x",), ("--jsn",), ("--json", "--json")]))
        )
    return Trial(verb, (verb, *more), {}, **_terminal(draw))


# Where neither a file nor a folder can be made.
UNWRITABLE = [
    *("folder", "missing/x/y", "fifo", "/dev/full/x", "/dev/null/x", "x" * 300, "y/" * 1500),
    *("nul\0byte", "/proc/x/y", "loop.csv/x", "unreadable.csv/x"),
]
WRITABLE_FOLDERS = ("folder", "missing/x/y")  # where a verb that makes folders starts


POOL_FILE = b"""
[reviews]
rule = {name = "half_life", half_life = "7d"}
ties = {name = "draw", seed = 1}
stakeholders = ["A", {name = "B", entitlement = 0.5}]
audit = {every = "month"}
"""
POOL_EXTREMES = [
    *("", "\0", "[a]\nrule = 7", "[a]\nstakeholders = [[]]", "[a.b.c]", "a = 1", "[a]\ndates = 3"),
    *(f"[a]\nrule = 'deadline:{'9' * 5000}'", "[a]\nrule = 'half_life:-1d'", "[a]\naudit = []"),
    *(
        f"[{'a' * 70}]",
        "[a]\nby_request = 'x'",
        f"[a]\nrule = {'{ name = ' * 3000}",
        "[a]\nties = 1",
    ),
    *("[a]\nstakeholders = [{name = 'A', entitlement = 1e999}]", "[a]\naudit = {every = []}"),
]
pool_files = st.one_of(
    damages.map(lambda damage: damaged(POOL_FILE, damage)),
    st.sampled_from(POOL_EXTREMES).map(str.encode),
).map(Plain)


@st.composite
def services(draw: st.DrawFn) -> Trial:
    """A service that never starts: its store cannot be opened, whatever else is said."""
    files: Files = {}
    more: list[str] = []
    if draw(st.booleans()):
        more += _file("--pools", "pools.toml", POOL_FILE, pool_files, ODD_PATHS)(draw, files, "any")
    for option, odd in (
        ("--rate-limit", ODD_FLOATS),
        ("--port", ODD_WHOLES),
        ("--host", ODD_TEXTS),
    ):
        if rarely(draw, 4):
            more += [option, draw(st.sampled_from(odd))]
    instead = [[], [], ["--verify"], ["--backup", "copy.db"], ["--new-token", "a:b:c"], ["--json"]]
    more += draw(st.sampled_from(instead))
    if "--port" not in more:
        more += ["--port", "0"]
    store = ["--store", draw(st.sampled_from(UNWRITABLE))]
    return Trial("serve", ("serve", *store, *more), files, **_terminal(draw))


@st.composite
def loads(draw: st.DrawFn) -> Trial:
    """What Python can load and the command line cannot: plans."""
    return Trial("load", ("saved",), {"saved": draw(saved_files(("plan", "plan", "policy")))})


@st.composite
def typos(draw: st.DrawFn) -> Trial:
    """A command line that is damaged itself."""
    trial = draw(st.one_of(audits(), monitors()))
    parts = list(trial.arguments)
    k = draw(st.integers(0, len(parts) - 1))
    how = draw(st.integers(0, 3))
    if how == 0:
        del parts[k]
    elif how == 1:
        parts.insert(k, draw(st.sampled_from(ODD_TEXTS)))
    elif how == 2:
        parts[k] = damaged(parts[k].encode(errors="replace"), draw(damages)).decode(
            errors="surrogateescape"
        )
    else:
        parts = parts[:k]
    kept = {name: file for name, file in trial.files.items() if name in " ".join(parts)}
    return Trial("typo", tuple(parts), kept, trial.stdin)


# How often each is tried, in a hundred: those that compile are the dear ones.
SHARES = {
    "audit": (22, audits()),
    "replay": (6, replays()),
    "monitor": (30, monitors()),
    "plan": (6, plans()),
    "train": (6, trainings()),
    "compare": (3, comparisons()),
    "evaluate": (8, evaluations()),
    "other": (4, others()),
    "serve": (4, services()),
    "load": (5, loads()),
    "typo": (6, typos()),
}

WITHOUT_JAX = ("audit", "replay", "monitor", "typo")


def trials_of(verbs: Sequence[str]) -> st.SearchStrategy[Trial]:
    """Trials of these verbs, or of all where none is named, each as often as its share says."""
    dealt = [
        one
        for name, (share, one) in SHARES.items()
        if name in (verbs or SHARES)
        for _ in range(share)
    ]
    return st.integers(0, len(dealt) - 1).flatmap(lambda k: dealt[k])
