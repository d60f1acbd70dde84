"""An answer as one plain HTML page that opens offline: every text escaped, nothing fetched."""

from __future__ import annotations

import html
from collections.abc import Iterator

from evenhand.audit.answer import Answer
from evenhand.audit.side_by_side import Comparison
from evenhand.audit.terminal import TextTable, side_by_side, tables
from evenhand.audit.words import number

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: 0.9rem }
th, td { padding: 0.2rem 0.8rem 0.2rem 0; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere }
.verdict { font-size: 1.2rem } .breach { border-left: 0.3rem solid #b00; padding-left: 0.6rem }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #eee } }
"""


def to_page(found: Answer | Comparison) -> bytes:
    """The page, as the bytes of a file."""
    body = "\n".join(_body(found))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>Fairness over time</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>Fairness over time</h1>
{body}
</main>
</body>
</html>
""".encode("utf-8", "xmlcharrefreplace")


def _body(found: Answer | Comparison) -> Iterator[str]:
    yield f'<p class="verdict">{_text(found.verdict)}</p>'
    answers = (found,) if isinstance(found, Answer) else (found.first, found.second)
    for ask in dict.fromkeys(ask for answer in answers for ask in answer.asks):
        yield f"<p>Before you read on: {_text(ask)}</p>"
    for breach in found.breaches:
        yield f'<p class="breach">Threshold breached: {_text(breach)}.</p>'
    if isinstance(found, Comparison):
        yield _table(side_by_side(found))
        yield _list("Notes on both logs", found.notes)
        for answer in (found.first, found.second):
            yield from _answer(answer)
        return
    yield from _answer(found)


def _answer(answer: Answer) -> Iterator[str]:
    overall = answer.overall
    yield f"<h2>{_text(answer.label)}</h2>"
    yield (
        f"<p>Score {number(overall.score)} over {overall.assessments:,} assessments "
        f"({_text(answer.question)}), {_text(overall.first)} to {_text(overall.last)}. "
        f"{_text(answer.scheme.describe())}</p>"
    )
    for table in tables(answer, number, len(answer.by_stakeholder)):
        yield _table(table)
    yield _list("Notes on the data", answer.notes)
    files = [f"{file['path']} (sha256 {file['sha256']})" for file in answer.origin.get("files", ())]
    digest = f"fingerprint of what was judged: {answer.origin.get('fingerprint')}"
    made = (f"evenhand {answer.origin.get('version')}", *files, digest)
    yield _list("How this page was made", made)


def _table(table: TextTable) -> str:
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in table.columns)
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    return (
        f"<h3>{_text(table.title)}</h3>\n"
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _list(title: str, items: tuple[str, ...]) -> str:
    if not items:
        return ""
    return (
        f"<h3>{_text(title)}</h3>\n<ul>{''.join(f'<li>{_text(item)}</li>' for item in items)}</ul>"
    )


def _text(text: str) -> str:
    return html.escape(str(text), quote=True)
