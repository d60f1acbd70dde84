"""Command lines of every verb: options that fit, options that do not, and files of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from fuzzing.damage import HUGE_TEXTS, damaged, damages, rarely
from fuzzing.expressions import expressions
from fuzzing.saved_files import WATCHED, saved_files, states
from fuzzing.scheme_files import PARTS, scheme_files
from fuzzing.tables import EDGE_TIMES, GOOD_TIMES, ODD_NAMES, Bomb, json_lines, tables
from fuzzing.trial import SPECIAL, Content, Plain, Trial

ODD_PATHS = [
    *SPECIAL,
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
ODD_WHOLES = [
    *(
        "0",
        "-1",
        "x",
        "",
        "1.5",
        "nan",
        "inf",
        "1e3",
        "٣",
        "0x10",
        "4294967296",
        "9223372036854775808",
    ),
    *("99999999999999999999999", "100000000", "1000000", "1_0", " 1 ", "9" * 5000),
]
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
Drawn = Callable[[st.DrawFn, Files], Sequence[str]]


def _value(option: str, good: Sequence[str], odd: Sequence[str], one_in: int = 5) -> Drawn:
    """An option with a value that fits, or one time in so many with one that does not."""

    def drawn(draw: st.DrawFn, files: Files) -> Sequence[str]:
        fits = good and not rarely(draw, one_in)
        return (option, draw(st.sampled_from(list(good if fits else odd))))

    return drawn


def _flag(option: str) -> Drawn:
    return lambda draw, files: (option,)


def _text(option: str, texts: st.SearchStrategy[str]) -> Drawn:
    return lambda draw, files: (option, draw(texts))


def _file(option: str, name: str, contents: st.SearchStrategy[Any], odd: Sequence[str]) -> Drawn:
    """An option that names a file, mostly one that is there."""

    def drawn(draw: st.DrawFn, files: Files) -> Sequence[str]:
        if rarely(draw, 8):
            return (option, draw(st.sampled_from(list(odd))))
        files[name] = draw(contents)
        return (option, name)

    return drawn


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
    "scheme": _file("--scheme", "scheme.toml", scheme_files, ODD_PATHS),
    "max": _value("--max-unfairness", ["0", "1", "1e6"], ODD_FLOATS),
    "min": _value("--min-score", ["0", "-1e6", "5"], ODD_FLOATS),
}
AUDIT: Mapping[str, Drawn] = {
    **QUESTION,
    "where": _text("--where", expressions),
    "when": _text("--when", expressions),
    "until": _value("--until", GOOD_TIMES, EDGE_TIMES, 2),
    "roster": _file("--roster", "roster.csv", rosters, ODD_PATHS),
    "entitlement": _file("--entitlement", "need.csv", entitlements, [*ODD_PATHS, "need", "much"]),
    "only": _value("--only", ["A", "B"], ODD_NAMES),
    "exclude": _value("--exclude", ["A", "C"], ODD_NAMES),
    "cumulative": _flag("--cumulative"),
    "group": _value("--group", ["team"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "by": _value("--by", ["group", "team", "stakeholder"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "run": _value("--run", ["run", "team"], [*COLUMN_NAMES, *ODD_COLUMNS]),
    "time-format": _value(
        "--time-format", ["%Y-%m-%d"], ["%", "%Q", "%d/%m/%Y", "%s", "%Z", "x", *ODD_TEXTS]
    ),
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
MONITOR: Mapping[str, Drawn] = {
    **QUESTION,
    "roster": _file("--roster", "roster.csv", rosters, ODD_PATHS),
    "entitlement": _file("--entitlement", "need.csv", entitlements, ODD_PATHS),
    "id": _value("--id", ["id"], ODD_TEXTS),
    "state": _file("--state", "state", states(), ["fresh.state", *ODD_PATHS]),
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
    "steps": _value("--steps", ["100"], [*ODD_WHOLES, "100000000000000000000"], 2),
    "tabular": _flag("--tabular"),
    "memory": _value("--memory", ["full", "min", "clock", "of_status"], ODD_TEXTS, 2),
    "proposal": _value("--proposal", ["above", "all", "none", "around"], ODD_TEXTS, 2),
    "json": _flag("--json"),
}
TRAIN: Mapping[str, Drawn] = {
    **LEARNING,
    "method": _value("--method", ["full", "fairqcm"], ["oracle", *ODD_TEXTS], 2),
    "out": _file("--out", "fair.run", saved_files(), ODD_PATHS),
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


def some_of(options: Mapping[str, Drawn], least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(sorted(options)), min_size=least, max_size=most, unique=True)


def _drawn(
    draw: st.DrawFn, files: Files, options: Mapping[str, Drawn], least: int, most: int
) -> list[str]:
    chosen = draw(some_of(options, least, most))
    return [part for name in chosen for part in options[name](draw, files)]


def _terminal(draw: st.DrawFn) -> dict[str, Any]:
    encoding = draw(st.sampled_from(["utf-8"] * 57 + ["ascii", "ascii", "latin-1"]))
    return {"encoding": encoding, "full": rarely(draw, 60)}


def _address(name: str) -> str:
    base = {"log.duckdb": "duckdb:///log.duckdb", "log.sqlite": "sqlite:///log.sqlite"}
    return base.get(name, name)


@st.composite
def audits(draw: st.DrawFn) -> Trial:
    files: Files = {}
    logs = []
    for k in range(draw(st.sampled_from([1] * 12 + [2, 2, 3]))):
        if rarely(draw, 12):
            logs.append(draw(st.sampled_from(ODD_PATHS)))
            continue
        table = draw(tables())
        kind = table.format
        if rarely(draw, 20):  # a file that is not what its name says
            kind = draw(
                st.sampled_from(["csv", "jsonl", "parquet", "csv.gz", "duckdb", "sqlite", "txt"])
            )
        name = f"log.{kind}" if not k else f"other{k}.{kind}"
        files[name] = table
        if rarely(draw, 300):
            name = "log.csv.gz"
            files[name] = Bomb()
        logs.append(_address(name))
    columns = ["--stakeholder", "who", "--time", "day"]
    if not rarely(draw, 10):
        columns += ["--amount", "much"]
    if rarely(draw, 10):
        k = draw(st.integers(0, len(columns) // 2 - 1))
        columns[2 * k + 1] = draw(st.sampled_from([*COLUMN_NAMES, *ODD_COLUMNS]))
    if rarely(draw, 15):
        columns = columns[: draw(st.integers(0, 2))]
    if any("://" in log for log in logs) and not rarely(draw, 10):
        columns += [
            "--table",
            draw(st.sampled_from([*["log", "seen"] * 8, "broken", "endless", "loads"])),
        ]
    arguments = ["audit", *logs, *columns, *_drawn(draw, files, AUDIT, 0, 3)]
    return Trial("audit", tuple(arguments), files, **_terminal(draw))


@st.composite
def monitors(draw: st.DrawFn) -> Trial:
    files: Files = {}
    kind = draw(st.integers(0, 2))
    watched = list(WATCHED) if kind else ["--stakeholder", "who", "--time", "day"]
    if kind == 2:  # as the saved state has it
        watched += _saved_state(draw, files)
    more = _drawn(draw, files, MONITOR, 0, 3)
    stdin = None if rarely(draw, 40) else draw(json_lines())
    return Trial("monitor", ("monitor", *watched, *more), files, stdin, **_terminal(draw))


def _saved_state(draw: st.DrawFn, files: Files) -> list[str]:
    files["state"] = draw(states())
    return ["--state", "state"]


@st.composite
def plans(draw: st.DrawFn) -> Trial:
    files: Files = {}
    options = {
        **WORLD,
        "discount": _value("--discount", ["0.9"], ODD_FLOATS, 2),
        "scheme": _file("--scheme", "scheme.toml", scheme_files, ODD_PATHS),
        "save": _value("--save", ["best.plan"], ODD_PATHS, 3),
        "chart": _value("--chart", ["chart.html"], ODD_PATHS, 3),
        "memories": _flag("--memories"),
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
        "episodes": _value("--episodes", ["1"], ODD_WHOLES, 2),
        "seed": _value("--seed", ["0"], ODD_WHOLES, 2),
        "log": _value("--log", ["fair.parquet"], ODD_PATHS, 2),
        "json": _flag("--json"),
    }
    named = _file("x", "saved", saved_files(("policy", "run", "run", "plan")), ODD_PATHS)(
        draw, files
    )[1]
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
                [["--out", path] for path in UNWRITABLE]
                + [["--seeds", seeds] for seeds in ODD_WHOLES if seeds not in (" 1 ",)]
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
    "audit": (32, audits()),
    "monitor": (30, monitors()),
    "plan": (6, plans()),
    "train": (6, trainings()),
    "compare": (3, comparisons()),
    "evaluate": (8, evaluations()),
    "other": (4, others()),
    "load": (5, loads()),
    "typo": (6, typos()),
}

WITHOUT_JAX = ("audit", "monitor", "typo")


def trials_of(verbs: Sequence[str]) -> st.SearchStrategy[Trial]:
    """Trials of these verbs, or of all where none is named, each as often as its share says."""
    dealt = [
        one
        for name, (share, one) in SHARES.items()
        if name in (verbs or SHARES)
        for _ in range(share)
    ]
    return st.integers(0, len(dealt) - 1).flatmap(lambda k: dealt[k])
