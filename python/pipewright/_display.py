"""HTML of results for notebooks with dark or light themes."""

from __future__ import annotations

import base64
import html
import os
from collections.abc import Iterable, Sequence
from typing import Any

# Tables use the colours of the notebook; pictures have a white background.
_STYLE = """<style>
.pipewright table {border-collapse: collapse; color: inherit; font-variant-numeric: tabular-nums}
.pipewright th, .pipewright td {padding: 0.15em 0.7em; text-align: right; color: inherit;
  background: transparent; white-space: nowrap}
.pipewright th {border-bottom: 1px solid color-mix(in srgb, currentColor 40%, transparent);
  vertical-align: bottom; font-weight: 600}
.pipewright .name {text-align: left}
.pipewright .quiet {opacity: 0.75; margin: 0.3em 0; white-space: pre-wrap}
.pipewright img {background: #fff; border-radius: 4px; padding: 6px; max-width: 100%;
  box-sizing: border-box}
</style>"""


class Picture:
    """An SVG for a notebook; ``svg`` is its text."""

    def __init__(self, svg: bytes) -> None:
        self.svg = svg.decode()

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg)} characters of SVG>"

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the picture to a .svg file."""
        with open(file, "w", encoding="utf-8", newline="") as stream:
            stream.write(self.svg)

    def _repr_html_(self) -> str:
        return f'{_STYLE}<div class="pipewright">{self.img()}</div>'

    def img(self) -> str:
        """An image element; as a separate document, its names cannot clash with other pictures."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="" src="data:image/svg+xml;base64,{data}">'


class Page:
    """The page of a run in a frame; ``html`` is its text."""

    def __init__(self, page: bytes, height: int) -> None:
        self.html = page.decode()
        self.height = height

    def __repr__(self) -> str:
        return f"<Page: {len(self.html)} characters of HTML>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self.height}" '
            'style="border: 0"></iframe>'
        )


def table_html(columns: list[dict[str, Any]]) -> str:
    """A table from columns with heading lines and cells."""

    def cell(tag: str, column: dict[str, Any], text: str) -> str:
        name = ' class="name"' if column["is_name"] else ""
        return f"<{tag}{name}>{text}</{tag}>"

    def head(column: dict[str, Any]) -> str:
        lines = column["head"]
        return "<br>".join(html.escape(line) for line in ([lines] if isinstance(lines, str) else lines))

    rows = [f"<tr>{''.join(cell('th', column, head(column)) for column in columns)}</tr>"]
    for texts in zip(*(column["cells"] for column in columns)):
        cells = (cell("td", column, html.escape(text)) for column, text in zip(columns, texts))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def runs_html(described: dict[str, Any], notes: list[str], picture: Picture) -> str:
    """Runs in a notebook: common properties, a table, notes and a timeline."""
    lines = "".join(f'<p class="quiet">{html.escape(note)}</p>' for note in notes)
    return (
        f'{_STYLE}<div class="pipewright">'
        f'<p class="quiet">{html.escape(described["common"])}</p>'
        f"{table_html(described['columns'])}{lines}{picture.img()}</div>"
    )


def text_html(text: str) -> str:
    """Terminal output of the program as preformatted text."""
    return f'{_STYLE}<div class="pipewright"><pre style="color: inherit">{html.escape(text)}</pre></div>'


def sections_html(sections: Iterable[tuple[str, Sequence[str]]], text: str) -> str:
    """Non-empty lists with headings, followed by a preformatted text."""
    shown = ""
    for head, lines in sections:
        if lines:
            items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
            head = f"<summary>{html.escape(head)}</summary>"
            shown += f"<details open>{head}<ul>{items}</ul></details>"
    return (
        f'{_STYLE}<div class="pipewright">{shown}'
        f'<pre style="color: inherit">{html.escape(text)}</pre></div>'
    )
