"""A compile as HTML: one tab per stage, in which every line shows the source line that it comes from.

The HTML has no script and loads nothing, so that it works in saved notebooks. Colors are inherited or translucent, so
that they suit light and dark pages; lines of one source line have the same color in every tab.
"""

from __future__ import annotations

import html
import itertools
import linecache
import secrets
from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING

from tilec.driver.provenance import Line, lines_of
from tilec.errors import SourceLocation
from tilec.remarks import Remark

if TYPE_CHECKING:
    from tilec.driver.compile_result import CompileResult
    from tilec.runtime.artifact.metadata import Metadata

# Neighboring source lines have hues that differ by the golden angle, so that they are easy to tell apart.
_HUE_STEP_DEGREES = 137
# At most this many lines of a stage are shown; the whole text is an attribute of the compile.
_MOST_LINES = 5000
# Source lines between two that a stage refers to are shown if the two are at most this many lines apart.
_LONGEST_GAP = 10

_STYLE = """
.tilec-stages { font-size: 13px; line-height: 1.4; }
.tilec-stages input { position: absolute; opacity: 0; pointer-events: none; }
.tilec-stages label { display: inline-block; padding: 3px 10px; cursor: pointer; border-bottom: 2px solid transparent; }
.tilec-stages input:checked + label { border-bottom-color: currentColor; font-weight: bold; }
.tilec-stages input:focus-visible + label { outline: 1px dotted currentColor; }
.tilec-stages small { opacity: 0.65; font-weight: normal; }
.tilec-stages .panels { border-top: 1px solid rgba(128, 128, 128, 0.5); max-height: 36em; overflow: auto; }
.tilec-stages .panel { display: none; margin: 0; padding: 4px 0; min-width: max-content; }
.tilec-stages .panel code { display: block; white-space: pre; padding-right: 1em; background: none; color: inherit; }
.tilec-stages .panel code::before { content: attr(data-from); display: inline-block; width: 5em; margin-right: 1em;
  text-align: right; opacity: 0.6; user-select: none; }
.tilec-stages .remark { white-space: pre-wrap; margin: 0 0 6px 0; }
"""


def compiled_html(compiled: CompileResult, metadata: Metadata | None) -> str:
    """The HTML of a compile: its source, its stages and its remarks, each in a tab."""
    group = f"tilec-{secrets.token_hex(6)}"
    tabs = list(_stage_tabs(compiled))
    if compiled.remarks:
        tabs.append((f"remarks <small>{len(compiled.remarks)}</small>", "".join(map(_remark, compiled.remarks))))
    shown = [_shown_rule(position) for position in range(len(tabs))]
    style, title = f"<style>{_STYLE}{''.join(shown)}</style>", _title(compiled, metadata)
    heads = "".join(_head(group, position, label) for position, (label, _) in enumerate(tabs))
    panels = "".join(_panel(position, content) for position, (_, content) in enumerate(tabs))
    return f'<div class="tilec-stages">{style}{title}{heads}<div class="panels">{panels}</div></div>'


def _title(compiled: CompileResult, metadata: Metadata | None) -> str:
    name = metadata.entry if metadata is not None else compiled.entry or compiled.source.name
    milliseconds = sum(result.seconds for result in compiled.stages) * 1e3
    return f"<div><b>{html.escape(name)}</b> <small>{compiled.target}, {milliseconds:.0f} ms</small></div>"


def _head(group: str, position: int, label: str) -> str:
    name = f"{group}-{position}"
    checked = " checked" if position == 0 else ""
    button = f'<input type="radio" class="tab-{position}" name="{group}" id="{name}"{checked}>'
    return f'{button}<label for="{name}">{label}</label>'


def _shown_rule(position: int) -> str:
    tab = f".tilec-stages .tab-{position}:checked ~ .panels .panel-{position}"
    return f"{tab} {{ display: block; }}\n"


def _panel(position: int, content: str) -> str:
    return f'<pre class="panel panel-{position}">{content}</pre>'


def _stage_tabs(compiled: CompileResult) -> Iterable[tuple[str, str]]:
    stages = {result.name: lines_of(result) for result in compiled.stages}
    if source := _source_lines(stages.values()):
        yield "source", _rows(source)
    for result in compiled.stages:
        if lines := stages[result.name]:
            yield f"{result.name} <small>{result.seconds * 1e3:.1f} ms</small>", _rows(lines)


def _source_lines(stages: Iterable[list[Line]]) -> list[Line]:
    """The source lines that the stages refer to, with those between and near them, file after file."""
    numbers: dict[str, set[int]] = {}
    for line in (line for lines in stages for line in lines):
        if line.location is not None:
            numbers.setdefault(line.location.file, set()).add(line.location.line)
    return [
        Line(linecache.getline(file, number).rstrip("\n"), SourceLocation(file, number))
        for file, used in numbers.items()
        if linecache.getline(file, max(used))
        for number in _with_lines_between(used)
    ]


def _with_lines_between(used: set[int]) -> list[int]:
    ordered = sorted(used)
    between = (range(low, high) for low, high in itertools.pairwise(ordered) if high - low <= _LONGEST_GAP)
    return sorted(used.union(*between))


def _rows(lines: list[Line]) -> str:
    rows = [_row(line) for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        rows.append(_row(Line(f"... {len(lines) - _MOST_LINES} more lines")))
    return "".join(rows)


def _row(line: Line) -> str:
    text = html.escape(line.text) or " "
    if line.location is None:
        return f'<code data-from="">{text}</code>'
    number, file = line.location.line, line.location.file
    source = linecache.getline(file, number).strip()
    title = html.escape(f"{PurePath(file).name}:{number}: {source}", quote=True)
    hue = number * _HUE_STEP_DEGREES % 360
    color = f"background: hsla({hue}, 70%, 50%, 0.16)"
    return f'<code data-from="{number}" title="{title}" style="{color}">{text}</code>'


def _remark(remark: Remark) -> str:
    return f'<div class="remark">{html.escape(str(remark))}</div>'
