"""The command reference, generated from the commands when docs/commands.md is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

PLACE = "<!-- every command, from the code -->"


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", _fill)
    app.connect("env-get-outdated", lambda *_: ["commands"])  # the code may have changed
    return {"parallel_read_safe": True}


def _fill(app: Any, page: str, source: list[str]) -> None:
    if PLACE in source[0]:
        source[0] = source[0].replace(PLACE, "\n".join(_reference()))


def _reference() -> Iterator[str]:
    import typer

    from evenhand.cli.app import app

    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        yield f"\n## evenhand {name}\n"
        for paragraph in command.help.split("\n\n"):
            line = " ".join(paragraph.split())
            example = line.removeprefix("Example: ")
            yield f"```console\n{example}\n```\n" if example != line else f"{_plain(line)}\n"
        kinds: dict[str, list[Any]] = {"argument": [], "option": []}
        for one in command.params:
            kinds[one.param_type_name].append(one)
        yield from _table("argument", kinds["argument"])
        for panel, some in groupby(kinds["option"], key=lambda option: option.rich_help_panel):
            if panel:
                yield f"\n### {_plain(panel)}\n"
            yield from _table("option", list(some))


def _table(what: str, parameters: list[Any]) -> Iterator[str]:
    if not parameters:
        return
    yield f"\n| {what} | meaning |\n|---|---|"
    for one in parameters:
        yield f"| {_name(one)} | {_plain(one.help or '')}{_default(one)} |"
    yield ""


def _name(one: Any) -> str:
    if one.param_type_name == "argument":
        return _code(one.metavar or one.name.upper())
    names = "`, `".join([*one.opts, *one.secondary_opts])
    if one.is_flag:
        return f"`{names}`"
    return f"`{names}` {_code(one.metavar or _value(one.type_descriptor.annotation))}"


def _value(kind: Any) -> str:
    """The placeholder of a value of this type; for a list, of one of its entries."""
    inner = get_args(kind)[0] if get_args(kind) else kind
    return {str: "TEXT", int: "N", float: "X", Path: "FILE"}.get(inner, inner.__name__.upper())


def _code(text: str) -> str:
    return "`" + text.replace("|", r"\|") + "`"


def _default(one: Any) -> str:
    if one.default is None or one.default is False or one.param_type_name == "argument":
        return ""
    return f" Default: `{one.default}`."


def _plain(text: str) -> str:
    """Text without markup: of Markdown, help texts only use `code`."""
    for mark in "\\|*_<>[]":
        text = text.replace(mark, "\\" + mark)
    return text
