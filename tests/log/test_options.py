"""Tests of log.options."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from evenhand import (
    AfterEach,
    FairnessScheme,
    Final,
    GiniWelfare,
    Rawls,
    TimepointFirst,
    Window,
    anytime,
    best_there_was,
    smallest_change,
)
from evenhand import errors as e
from evenhand.auditing import audit, compare, compare_periods
from evenhand.auditing.compare_logs import compare_periods as compare_periods_options
from evenhand.cli.app import app
from evenhand.cli.output import as_option
from evenhand.decide.replay.replay_log import replay
from evenhand.errors import (
    BadParameter,
    EvenhandError,
    MissingColumn,
    UnknownArgument,
    UnknownStakeholder,
    WrongArguments,
)
from evenhand.fairness.status import (
    EnvyOfBest,
    Level,
    LowerIsBetter,
    MeanWait,
    PerCurrentEntitlement,
    PerEntitlement,
    RateWithinPeriod,
    ShareMet,
)
from evenhand.log.options import AuditOptions, SchemeOptions
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, SIDE_BY_SIDE, write

# What options cannot mean together is refused with the reason, and none is ever ignored.

BASE = {"stakeholder": "who", "time": "day", "amount": "got"}
WAITS = {"stakeholder": "who", "wait_from": "day", "wait_to": "end"}
RATE, ASKED, STOCK = {"out_of": "n"}, {"asked": "wants"}, {"stock": True}
REFUSED = [
    (RATE | {"entitlement": "people"}, "both say what an amount is set against"),
    (RATE | ASKED, "both say what an amount is set against"),
    (RATE | {"cumulative": True}, "take differences first"),
    (RATE | STOCK, "take differences first"),
    (RATE | {"unweighted": True, "entitlement": None}, "without which it has no mean"),
    (RATE | {"newcomers": "mean", "roster": ["A"]}, "needs no beginning"),
    ({"within_period": True}, "no meaning without `out_of`"),
    (RATE | {"within_period": True, "after_each": 3}, "needs periods"),
    (RATE | {"within_period": True, "when": "got > 1"}, "needs periods"),
    (ASKED | STOCK, "take differences first"),
    (ASKED | {"lower_is_better": True}, "less of them is better"),
    (ASKED | {"newcomers": "zero", "roster": ["A"]}, "begin elsewhere"),
    (ASKED | {"before": 2}, "judges each period from nothing"),
    (ASKED | {"entitlement": "people"}, "or judge with `judge_requests='while_waiting'`"),
    ({"requests": "r.csv", "run": "seed"}, "belong to no `run`"),
    (STOCK | {"after_each": 3}, "levels, and `after_each` that they are given out"),
    (STOCK | {"newcomers": "mean", "roster": ["A"]}, "where each stands"),
    ({"judge_requests": "shortfall"}, "no meaning without `asked` or `requests`"),
    ({"requests_time": "at"}, "no meaning without `requests`"),
    ({"requests_stakeholder": "client"}, "no meaning without `requests`"),
    ({"requests_table": "asked"}, "no meaning without `requests`"),
    ({"within": "30d"}, "no meaning without `wait_from`"),
    ({"longest_open": True}, "no meaning without `wait_from`"),
    ({"newcomers": "mean"}, "no meaning without `roster`"),
    ({"unweighted": True}, "no meaning without `entitlement`"),
    (STOCK | {"scheme": FairnessScheme(filter=AfterEach(3.0))}, "no meaning with `stock`"),
    (
        RATE | {"within_period": True, "scheme": FairnessScheme(filter=AfterEach(3.0))},
        "no meaning with `within_period`",
    ),
]


@pytest.mark.parametrize(("options", "why"), REFUSED, ids=[" ".join(o) for o, _ in REFUSED])
def test_what_makes_no_sense_is_refused_before_anything_is_read(options, why):
    with pytest.raises(e.BadParameter, match=why):
        AuditOptions(**BASE, **options)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"when": "got > 1"}, "leave `when` out"),
        ({"amount": "got"}, "leave `amount` out"),
        ({"time": "other"}, "leave `time` out"),
        ({"within": 3, "lower_is_better": True}, "better when higher"),
        ({"within": 3, "longest_open": True}, "ask different questions"),
        ({"longest_open": True, "by": "region"}, "is not summed by group"),
        ({"scheme": FairnessScheme(filter=AfterEach(3.0))}, "no meaning with `wait_from`"),
    ],
)
def test_what_waits_leave_no_room_for(options, why):
    with pytest.raises(e.BadParameter, match=why):
        AuditOptions(**WAITS, **options)


LOG = pd.DataFrame(
    {
        "day": [1, 1, 2, 3, 4],
        "who": ["A", "B", "A", "B", "A"],
        "got": [2.0, 1.0, 1.0, 3.0, 2.0],
        "n": [4.0, 2.0, 2.0, 3.0, 2.0],
        "wants": [4.0, 5.0, 2.0, 3.0, 2.0],
        "people": [2.0, 3.0, 2.0, 3.0, 2.0],
        "end": [2.0, 3.0, 5.0, None, 6.0],
    }
)


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [
        (RATE, Window(2), "`out_of` cannot be set beside"),
        (RATE, EnvyOfBest(), "`out_of` cannot be set beside"),
        (STOCK, Window(2), "`stock` cannot be set beside"),
        (ASKED, LowerIsBetter(), "`asked` cannot be set beside"),
        (ASKED, PerEntitlement((1.0, 2.0)), "`asked` cannot be set beside"),
        (ASKED, LowerIsBetter(of=ShareMet()), "less is better"),
        (ASKED | {"judge_requests": "shortfall"}, ShareMet(), "is already said by the scheme"),
        ({"entitlement": "people"}, PerEntitlement((1.0, 2.0)), "says already what each is"),
        ({"entitlement": "people"}, EnvyOfBest(), "not an amount to be taken per unit"),
        (
            {"entitlement": "people", "unweighted": True},
            PerCurrentEntitlement(),
            "`unweighted` is already said",
        ),
        ({}, Level(), "no column says that"),
        (RATE, MeanWait(), "wherever `wait_from` and `wait_to` are given"),
        ({}, RateWithinPeriod(), "no meaning without `out_of`"),
    ],
)
def test_a_scheme_s_status_is_not_set_against_something_twice(options, status, why):
    with pytest.raises(e.BadParameter, match=why):
        audit(LOG, **BASE, **options, scheme=anytime(Rawls(), status=status))


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (ASKED, ShareMet()),
        (RATE | {"every": 2}, RateWithinPeriod()),
        ({"entitlement": "people"}, PerCurrentEntitlement()),
    ],
    ids=lambda part: str(part),
)
def test_a_scheme_may_say_what_an_option_says(options, status):
    own = audit(LOG, **BASE, **options, scheme=anytime(Rawls(), status=status))
    within = {"within_period": True} if "out_of" in options else {}
    asked = audit(LOG, **BASE, **options, **within, welfare="rawls")
    assert own.score == asked.score
    assert own.over_time.unfairness == pytest.approx(asked.over_time.unfairness, nan_ok=True)


def test_two_periods_are_not_one_audit():
    for judged in (
        lambda: audit(LOG, **BASE, before=3),
        lambda: compare(LOG, LOG, **BASE, before=3),
    ):
        with pytest.raises(e.BadParameter, match=r"call evenhand\.auditing\.compare_periods"):
            judged()
    with pytest.raises(e.BadParameter, match="when the second period begins"):
        compare_periods(LOG, **BASE)


def test_newcomers_need_a_roster_that_says_when_they_come():
    with pytest.raises(e.BadParameter, match="says of nobody from when it is there"):
        audit(LOG, **BASE, roster=["A", "B"], newcomers="least")


@pytest.mark.parametrize("written", ["by-time", "by_time"])
def test_names_may_be_written_with_hyphens_or_underscores(written):
    options = AuditOptions(**BASE, roster=["A"], newcomers=written)
    assert options.newcomers == "by-time"
    shares = AuditOptions(**BASE, **ASKED, judge_requests="share-met")
    assert shares.judge_requests == "share_met"


# The options of an audit: written once, validated when built, and named as their reader does.

LOG_OPTIONS = pd.DataFrame(FIRST_A_THEN_B, columns=["date", "country", "doses"])
NAMES = [spec.name for spec in fields(AuditOptions)]


def from_the_shell(tmp_path, *arguments):
    """The sentence that the command line would print."""
    log = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    return str(CliRunner().invoke(app, ["audit", log, *OPTIONS, *arguments]).exception)


def test_users_see_every_option_in_the_signature_and_in_the_docstring():
    for function, logs in ((audit, ["log"]), (compare, ["first", "second"])):
        parameters = inspect.signature(function).parameters
        assert list(parameters) == logs + NAMES
        assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in NAMES)
        assert function.__name__ in ("audit", "compare")
    for name in NAMES:
        assert f"\n        {name}: " in audit.__doc__
    with pytest.raises(TypeError, match="fortnightly"):
        audit(LOG_OPTIONS, **MAPPED, fortnightly=True)


@pytest.mark.parametrize(
    ("function", "own"),
    [(best_there_was, ["lots"]), (smallest_change, ["reach", "raise_worst_to"])],
)
def test_looking_back_takes_every_option_too(function, own):
    parameters = inspect.signature(function).parameters
    assert list(parameters) == ["log", *NAMES, *own]
    assert all(f"\n        {name}: " in function.__doc__ for name in own)
    assert function.__name__ in ("best_there_was", "smallest_change")


def test_the_command_line_has_every_option(tmp_path):
    words = CliRunner().invoke(app, ["audit", "--help"], env={"COLUMNS": "200"}).output
    for name in NAMES:
        assert as_option(name) in words


@pytest.mark.parametrize(
    ("options", "arguments", "python", "shell"),
    [
        (
            {"every": "day", "at_end": True},
            ("--every", "day", "--at-end"),
            "`every` and `at_end` ask different questions",
            "--every and --at-end ask different questions",
        ),
        (
            {"every": "fortnight"},
            ("--every", "fortnight"),
            "`every` is 'fortnight': it must be day",
            "--every is 'fortnight': it must be day",
        ),
        (
            {"by": "group"},
            ("--by", "group"),
            "`by='group'` needs to know the groups: say with `group`",
            "--by group needs to know the groups: say with --group",
        ),
        (
            {"welfare": "alpha_fair"},
            ("--welfare", "alpha_fair"),
            "give it as `scheme`",
            "give it as --scheme",
        ),
        (
            {"max_unfairness": float("nan")},
            ("--max-unfairness", "nan"),
            "`max_unfairness` is nan: it must be an amount",
            "--max-unfairness is 'nan': it must be an amount",
        ),
        ({"until": "soon"}, ("--until", "soon"), "`until` is 'soon'", "--until is 'soon'"),
        (
            {"entitlement": "dose"},
            ("--entitlement", "dose"),
            "`entitlement` is 'dose', which is neither a column",
            "--entitlement is 'dose', which is neither a column",
        ),
        (
            {"exclude": ["C"]},
            ("--exclude", "C"),
            "`exclude` names 'C', who is not in the log",
            "--exclude names 'C', who is not in the log",
        ),
        (
            {"where": "dose ="},
            ("--where", "dose ="),
            "`where` names 'dose'",
            "--where names 'dose'",
        ),
    ],
)
def test_python_names_arguments_and_the_shell_names_options(
    tmp_path, options, arguments, python, shell
):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        audit(LOG_OPTIONS, **MAPPED, **options)
    assert python in str(caught.value)
    assert "--" not in str(caught.value)
    found = from_the_shell(tmp_path, *arguments)
    assert shell in found
    assert "`" not in found
    with pytest.raises(ValueError) as again:  # noqa: PT011
        audit(LOG_OPTIONS, **MAPPED, **options)
    assert str(again.value) == str(caught.value)  # the shell's way to speak ends with its command


def test_notes_limits_and_breaches_speak_the_same_way(tmp_path):
    rows = [*FIRST_A_THEN_B, ("2021-05-03", "A", 1)]
    log = pd.DataFrame(rows, columns=["date", "country", "doses"])
    answer = audit(log, **MAPPED, every="month", max_unfairness=10, welfare="rawls")
    assert any(note.endswith("say so with `until`.") for note in answer.notes)
    assert answer.breaches[0].endswith("more than `max_unfairness` 10")
    assert answer.to_json()["limits"][0]["option"] == "max_unfairness"
    path = write(tmp_path / "log.csv", rows)
    asked = ("--every", "month", "--max-unfairness", "10", "--welfare", "rawls")
    words = CliRunner().invoke(app, ["audit", path, *OPTIONS, *asked, "--json"]).output
    assert "say so with --until." in words
    assert "more than --max-unfairness 10" in words
    assert '"option": "--max-unfairness"' in words


def test_errors_carry_what_they_are_about():
    with pytest.raises(MissingColumn) as caught:
        audit(LOG_OPTIONS, stakeholder="contry", time="date")
    error = caught.value
    assert (error.columns, error.nearest, error.argument) == (("contry",), "country", "stakeholder")
    with pytest.raises(UnknownStakeholder) as unknown:
        audit(LOG_OPTIONS, **MAPPED, only=["a"])
    assert (unknown.value.name, unknown.value.nearest) == ("a", "A")


def test_options_are_validated_when_built_and_replaced():
    options = AuditOptions(**MAPPED, by="region")
    assert (options.group, options.by_group) == ("region", True)
    with pytest.raises(BadParameter, match="ask different questions"):
        replace(options, every="day", when="doses > 1")
    with pytest.raises(BadParameter, match="`cumulative` says that amounts"):
        AuditOptions(stakeholder="a", time="b", cumulative=True)
    with pytest.raises(ValueError, match="did you mean 'rawls'"):
        SchemeOptions(welfare="rals")
    own = FairnessScheme(aggregation=TimepointFirst(Rawls()), filter=Final())
    with pytest.raises(BadParameter, match="`welfare` is already said"):
        SchemeOptions(scheme=own, welfare=GiniWelfare())
    with pytest.raises(BadParameter, match="`every` and the scheme's filter"):
        SchemeOptions(scheme=own, every="day")


def test_a_scheme_file_is_read_once(tmp_path):
    path = tmp_path / "scheme.toml"
    path.write_text('welfare = "rawls"\n')
    options = AuditOptions(**MAPPED, scheme=path)
    path.unlink()
    assert replace(options, every="day").schemes(options.status(), Final())[0].welfare == Rawls()


def test_two_logs_may_be_tables_of_two_names():
    options = AuditOptions(**MAPPED, table=["one", None])
    assert (options.for_log(0).table, options.for_log(1).table) == ("one", None)
    side = pd.DataFrame(SIDE_BY_SIDE, columns=["date", "country", "doses"])
    assert compare(LOG_OPTIONS, side, **MAPPED, welfare="parity").questions[0].fairer is not None


ROLES = ("stakeholder", "time", "amount", "group", "entitlement", "run")


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(ROLES, 2)))
def test_one_column_has_one_role(one, other):
    """Except for two: all of a name may be a group, and a run may be of one group."""
    roles = {"stakeholder": "a", "time": "b"} | {one: "x", other: "x"}
    if {one, other} in ({"stakeholder", "group"}, {"group", "run"}):
        assert AuditOptions(**roles)
        return
    with pytest.raises(BadParameter, match=f"`{one}` and `{other}` both name the column 'x'"):
        AuditOptions(**roles)


def test_one_column_for_two_roles_is_refused_in_a_sentence(refuses, tmp_path):
    path = write(tmp_path / "log.csv", [("2021-01-01", "A", 1)])
    words = ("--stakeholder and --amount both name the column 'doses'", "of its own")
    refuses(words, path, "--stakeholder", "doses", "--time", "date", "--amount", "doses")


NUMBERED = pd.DataFrame({"month": [1, 1, 2, 2], "who": [1, 2, 1, 3], "got": [4, 1, 2, 5]})
BY_NUMBER = {"stakeholder": "who", "time": "month", "amount": "got"}


def test_stakeholders_may_be_named_by_their_numbers():
    everyone = audit(NUMBERED, **BY_NUMBER)
    assert everyone.stakeholder(1) == everyone.stakeholder("1")
    for one in ([1, 2], ("1", 2), np.array([1, 2]), pd.Series([1, 2])):
        assert audit(NUMBERED, **BY_NUMBER, only=one).over_time.names == ("1", "2")
    assert audit(NUMBERED, **BY_NUMBER, exclude=[1]).over_time.names == ("2", "3")
    for roster in ([1, 2, 3, 4], (1, 2, 3, 4), np.arange(1, 5), ["1", 2, 3, np.int64(4)]):
        found = audit(NUMBERED, **BY_NUMBER, roster=roster)
        assert found.over_time.names == ("1", "2", "3", "4")
    by_group = NUMBERED.assign(part=[7, 8, 7, 8])
    assert audit(by_group, **BY_NUMBER, group="part", reference=7).groups.reference == "7"


def test_one_name_may_stand_alone():
    log = pd.DataFrame({"month": [1, 1, 1], "who": ["Ann", "A", "n"], "got": [1, 2, 3]})
    assert audit(log, **BY_NUMBER, exclude="Ann").over_time.names == ("A", "n")
    assert audit(NUMBERED, **BY_NUMBER, exclude=3).over_time.names == ("1", "2")


def test_somebody_on_the_roster_who_received_nothing_may_be_left_out():
    found = audit(NUMBERED, **BY_NUMBER, roster=[1, 2, 3, 4], exclude=4)
    assert found.over_time.names == ("1", "2", "3")


def test_a_number_that_nobody_has_is_a_sentence():
    answer = audit(NUMBERED, **BY_NUMBER)
    with pytest.raises(UnknownStakeholder) as unknown:
        answer.stakeholder(9)
    assert str(unknown.value) == "there is no stakeholder '9': check its spelling."
    for name in ("only", "exclude"):
        with pytest.raises(UnknownStakeholder, match=f"`{name}` names '9', who is not in the log"):
            audit(NUMBERED, **BY_NUMBER, **{name: [9]})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"draws": "x"}, "`draws` is 'x': it must be a whole number from 1 to 1,000,000."),
        ({"draws": 10.0}, "`draws` is 10.0: it must be a whole number from 1 to 1,000,000."),
        ({"seed": "x"}, "`seed` is 'x': it must be a whole number from 0."),
        ({"seed": -1}, "`seed` is -1: it must be a whole number from 0."),
        ({"seed": None}, "`seed` is None: it must be a whole number from 0."),
        ({"min_score": "x"}, "`min_score` is 'x': a limit must be a number."),
        ({"alarm": "x"}, "`alarm` is 'x': the probability of ever raising a false alarm must lie "),
        ({"alarm": 1.5}, "`alarm` is 1.5: the probability of ever raising a false alarm must lie "),
    ],
)
def test_numbers_that_are_none_are_a_sentence(given, sentence):
    with pytest.raises(BadParameter) as refused:
        audit(LOG_OPTIONS, **MAPPED, **given)
    assert str(refused.value).startswith(sentence)
    assert AuditOptions(**MAPPED, seed=np.int64(7), draws=np.int32(9)).seed == 7


@pytest.mark.parametrize("function", [audit, compare, compare_periods_options, replay])
def test_a_slip_in_an_arguments_name_is_offered_the_nearest(function):
    logs = (LOG_OPTIONS, LOG_OPTIONS) if function is compare else (LOG_OPTIONS,)
    name = function.__name__
    with pytest.raises(UnknownArgument) as slip:
        function(*logs, stakehoder="country", time="date")
    assert str(slip.value) == f"{name} has no argument 'stakehoder': did you mean 'stakeholder'?"
    assert (slip.value.name, slip.value.nearest) == ("stakehoder", "stakeholder")
    with pytest.raises(TypeError, match=rf"^{name} has no argument 'xyz': see help\({name}\)\.$"):
        function(*logs, **MAPPED, xyz=1)


@pytest.mark.parametrize("function", [audit, replay])
def test_how_many_logs_go_without_a_name(function):
    name = function.__name__
    with pytest.raises(WrongArguments, match=f"{name} takes 1 log and everything else by name"):
        function(FIRST_A_THEN_B, "country", "date")
    with pytest.raises(TypeError, match="0 were given without a name"):
        function(stakeholder="country")
    with pytest.raises(WrongArguments, match="compare takes 2 logs"):
        compare(FIRST_A_THEN_B, **MAPPED)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"stakeholder": 1}, "`stakeholder` is 1: it must be the name of a column, as text"),
        ({"amount": ["a"]}, "`amount` is .*it must be the name of a column"),
        ({"chance": "no"}, "`chance` is 'no': it must be True or False"),
        ({"at_end": 1}, "`at_end` is 1: it must be True or False"),
        ({"after_each": "1000"}, "`after_each` is '1000': it must be a positive number"),
        ({"where": 5}, "`where` is 5: it must be a condition, as text, such as"),
        ({"when": 5}, "`when` is 5: it must be a condition, as text, such as"),
        ({"group": 5}, "`group` is 5: it must be the name of a column, or a list of names"),
        ({"group": ["a", 5]}, "`group` is .*: it must be the name of a column, or a list of"),
        ({"by": 3}, "`by` is 3: it must be 'stakeholder', 'group' or the name of a column"),
        ({"scheme": 5}, "`scheme` is 5: it must be a FairnessScheme, such as anytime"),
        ({"scheme": {}}, "`scheme` is {}: it must be a FairnessScheme, such as anytime"),
        ({"missing": {"*": 1}}, "`missing` is .*: it must say between which two numbers each mark"),
        ({"missing": {"*": ("a", 2)}}, "`missing` is .*: it must say between which two numbers"),
        ({"missing": {"*": (4, 1)}}, "`missing` is '\\*': write a mark such as"),
        ({"time_format": 5}, "`time_format` is 5: it must be text such as '%d/%m/%Y'"),
        ({"encoding": None}, "`encoding` is None: it must be the name of an encoding, such as"),
        ({"wide": []}, "`wide` is \\[\\]: it must be time or stakeholder"),
    ],
)
def test_mistyped_arguments_are_sentences(given, sentence):
    with pytest.raises(BadParameter, match=sentence):
        audit(LOG_OPTIONS, **{**MAPPED, **given})


@pytest.mark.parametrize("name", NAMES)
def test_no_value_of_an_option_ends_in_a_bare_error(name, tmp_path):
    logs = LOG_OPTIONS, write(tmp_path / "log.csv", FIRST_A_THEN_B)
    values = (5, "x", None, {}, [], [5], 2.5, float("nan"), True, {"a": 1})
    for log, value in itertools.product(logs, values):
        with contextlib.suppress(EvenhandError):
            audit(log, **{**MAPPED, "chance": False, name: value})


def test_rules_are_rules_and_a_list_of_logs_has_one():
    with pytest.raises(BadParameter, match="`rules` is 5: it must be a rule, or a list of rules"):
        replay(LOG_OPTIONS, **MAPPED, rules=5)
    for empty in ([], ()):
        with pytest.raises(BadParameter, match="the list of files is empty"):
            audit(empty, **MAPPED)
