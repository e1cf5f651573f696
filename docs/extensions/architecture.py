"""The drawings of docs/architecture.md, made from the records of stages and passes and the docstrings of folders.

`python docs/extensions/architecture.py` writes them into the page as text. As a Sphinx extension it replaces the
drawings of stages and passes by SVG.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import tilec
from tilec.driver.stages import STAGES, Stage
from tilec.lowering.gpu.kernel_pass import KernelPass, State
from tilec.lowering.gpu.pass_records import RECORDS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGE = Path(__file__).parents[1] / "architecture.md"
PACKAGE = Path(tilec.__file__).parent
_SCRIPT = "docs/extensions/architecture.py"
_BLOCK = re.compile(rf"<!-- not run: (\w+), drawn by {_SCRIPT} -->\n```text\n.*?```\n", re.DOTALL)
# The backends: the stage whose result each executes, and its code.
BACKENDS = {
    "interpret": ("tile", "runtime/interpret/"),
    "simulate": ("ptx", "runtime/ptxsim/"),
    "launch": ("cubin", "runtime/launch/"),
}
_WIDTH = 88
# Characters of the columns of the text drawings.
_BOX, _NAME, _FOLDER, _OPTION = 12, 24, 12, 22


def stages_as_text() -> str:
    """Each stage in a box, with its code; between the boxes the files, their contents, and the backends."""
    lines = ["a Python function", "       │"]
    for stage in STAGES:
        lines += [
            f"╭{'─' * (_BOX // 2)}┴{'─' * (_BOX // 2)}─╮",
            f"│ {stage.name:{_BOX}} │  {', '.join(stage.folders)}",
            f"╰{'─' * (_BOX // 2)}┬{'─' * (_BOX // 2)}─╯",
        ]
        for number, line in enumerate(textwrap.wrap(_plain(stage.content), _WIDTH - 34)):
            lines.append(f"       │ {stage.suffix if number == 0 else '':16}  {line}")
        lines += [f"       ├──▶ {name} ({code})" for name, code in _backends(stage)]
    return "\n".join([*lines[:-1], lines[-1].replace("├", "╰")]) + "\n"


def _backends(stage: Stage) -> Iterator[tuple[str, str]]:
    yield from ((name, code) for name, (executed, code) in BACKENDS.items() if executed == stage.name)


def passes_as_text() -> str:
    """One line per pass, with a column per state: where it is given, where passes need it."""
    lines = []
    states = list(State)
    for position, state in enumerate(states):
        lines.append(f"{'':{_NAME}}{'│ ' * position}{state.name.lower()}")
    head = f"{'pass':{_NAME}}{'│ ' * len(states)}"
    lines.append(f"{head}  {'folder':{_FOLDER}}{'off with':{_OPTION}}unit")
    for position, record in enumerate(RECORDS):
        marks = "".join(f"{_mark(position, record, state)} " for state in states)
        option = f"{record.option}=off" if record.option else ""
        line = f"{record.name:{_NAME}}{marks}  {_folder(record):{_FOLDER}}{option:{_OPTION}}{record.unit or ''}"
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def _mark(position: int, record: KernelPass, state: State) -> str:
    if state in record.gives:
        return "◆"
    if state in record.needs:
        return "●"
    first, last = needed_span(state)
    return "│" if first <= position <= last else " "


def needed_span(state: State) -> tuple[int, int]:
    """The positions of the first pass that gives or needs a state, or of the first pass, and of the last that needs it.

    A state that no pass gives holds from the start.
    """
    needing = [position for position, record in enumerate(RECORDS) if state in record.needs]
    giving = [position for position, record in enumerate(RECORDS) if state in record.gives]
    return min([*giving, *needing]) if giving else 0, max([*giving, *needing], default=0)


def _folder(record: KernelPass) -> str:
    return record.run.__module__.split(".")[-2]


def folders_as_text() -> str:
    """The folders of lowering/ in the order of the stages, with the first paragraphs of their docstrings."""
    return "\n".join(_folder_lines(PACKAGE / "lowering", 0)) + "\n"


def _folder_lines(folder: Path, depth: int) -> Iterator[str]:
    name = f"{'  ' * depth}{folder.name}/"
    for number, line in enumerate(textwrap.wrap(_docstring(folder).split("\n\n")[0], _WIDTH - 20)):
        yield f"{name if number == 0 else '':20}{line}".rstrip()
    for inner in sorted(folder.iterdir(), key=lambda path: _order(folder, path)):
        if (inner / "__init__.py").exists():
            yield from _folder_lines(inner, depth + 1)


def _docstring(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""


def _order(parent: Path, folder: Path) -> tuple[int, int, str]:
    """Folders that no stage owns come first; folders that the docstring of their parent lists have its order."""
    owners = [n for n, stage in enumerate(STAGES) if f"lowering/{folder.name}/" in stage.folders]
    listed = re.search(rf"\b{folder.name}\b", _docstring(parent).split("\n\n")[-1])
    return owners[0] if owners else -1, listed.start() if listed else 0, folder.name


def _plain(markdown: str) -> str:
    return markdown.replace("`", "")


DRAWINGS = {"stages": stages_as_text, "passes": passes_as_text, "folders": folders_as_text}


def page(text: str) -> str:
    """The text of the page with its drawings made again."""
    return _BLOCK.sub(
        lambda block: f"<!-- not run: {block[1]}, drawn by {_SCRIPT} -->\n```text\n{DRAWINGS[block[1]]()}```\n", text
    )


# Pixels of the SVG drawings.
_ROW, _LEFT, _LANE = 22, 150, 92
_COLORS = ("#8ecae6", "#ffb703", "#90be6d", "#cdb4db", "#e9c46a", "#f28482", "#b8b8b8")
_LANE_COLOR = "#5b7c99"


def passes_as_svg() -> str:
    """The passes in order: on the left an arc from each pass to those before it, on the right the states."""
    position = {record.name: number for number, record in enumerate(RECORDS)}
    colors = dict(zip(sorted({_folder(record) for record in RECORDS}), _COLORS, strict=False))
    top, lanes = 34, _LEFT + 200
    drawn = [_text(lanes + _LANE * n + 8, 20, state.name.lower(), "bold") for n, state in enumerate(State)]
    drawn.append(_text(lanes + _LANE * len(State) + 8, 20, "off with", "bold"))
    for n, state in enumerate(State):
        first, last = needed_span(state)
        x = lanes + _LANE * n + 30
        y = top + _ROW * first + _ROW // 2
        drawn.append(f'<rect x="{x - 3}" y="{y}" width="6" height="{_ROW * (last - first)}" fill="#d5e0ea"/>')
    for record in RECORDS:
        y = top + _ROW * position[record.name]
        color = colors[_folder(record)]
        drawn += [_arc(top, position[name], position[record.name]) for name in record.after]
        drawn.append(f'<rect x="{_LEFT}" y="{y + 2}" width="170" height="{_ROW - 4}" rx="4" fill="{color}"/>')
        drawn.append(_text(_LEFT + 8, y + 15, record.name, title=f"{_plain(record.guarantees)} ({_folder(record)})"))
        for n, state in enumerate(State):
            if state in (*record.needs, *record.gives):
                fill = "white" if state in record.gives else _LANE_COLOR
                x = lanes + _LANE * n + 30
                circle = f'<circle cx="{x}" cy="{y + _ROW // 2}" r="5" fill="{fill}"'
                drawn.append(f'{circle} stroke="{_LANE_COLOR}" stroke-width="2"/>')
        notes = (f"{record.option}=off" if record.option else "", f"({record.unit})" if record.unit else "")
        drawn.append(_text(lanes + _LANE * len(State) + 8, y + 15, " ".join(note for note in notes if note)))
    x, y = _LEFT, top + _ROW * len(RECORDS) + 10
    for name, color in colors.items():
        drawn.append(f'<rect x="{x}" y="{y}" width="14" height="14" rx="3" fill="{color}"/>')
        drawn.append(_text(x + 20, y + 12, name))
        x += 100
    return _svg(lanes + _LANE * len(State) + 200, y + 24, drawn)


def _arc(top: int, first: int, last: int) -> str:
    """An arc on the left of two passes; the deeper, the farther they are apart."""
    start, end = (top + _ROW * n + _ROW // 2 for n in (first, last))
    depth = min(_LEFT - 10, 14 + 9 * (last - first))
    path = f"M {_LEFT} {start} C {_LEFT - depth} {start}, {_LEFT - depth} {end}, {_LEFT} {end}"
    return f'<path d="{path}" fill="none" stroke="#999" stroke-width="1.2"/>'


def stages_as_svg() -> str:
    """The stages from top to bottom, with their code; on the arrows between them the files and their contents."""
    box, step, left = 36, 86, 20
    drawn = [_text(left, 16, "a Python function"), _arrow(left + 60, 22, 40)]
    for number, stage in enumerate(STAGES):
        y = 42 + step * number
        drawn.append(f'<rect x="{left}" y="{y}" width="120" height="{box}" rx="6" fill="#8ecae6"/>')
        drawn.append(_text(left + 60, y + 23, stage.name, "bold", anchor="middle"))
        drawn.append(_text(left + 135, y + 23, ", ".join(stage.folders), "mono"))
        bottom = y + (step if stage is not STAGES[-1] else box + 24)
        drawn.append(_arrow(left + 60, y + box, bottom - 2))
        drawn.append(_text(left + 72, y + box + 28, f"{stage.suffix}:  {_plain(stage.content)}"))
        for name, code in _backends(stage):
            drawn.append(f'<path d="M 660 {y + box + 24} H 712" stroke="#555" stroke-width="1.5"/>')
            drawn.append(f'<path d="M 712 {y + box + 19} l 8 5 l -8 5 z" fill="#555"/>')
            drawn.append(f'<rect x="720" y="{y + box + 10}" width="180" height="28" rx="14" fill="#90be6d"/>')
            drawn.append(_text(810, y + box + 28, f"{name}: {code}", anchor="middle"))
    return _svg(910, 42 + step * len(STAGES), drawn)


def _arrow(x: int, first: int, last: int) -> str:
    return (
        f'<path d="M {x} {first} V {last - 7}" stroke="#555" stroke-width="1.5"/>'
        f'<path d="M {x - 5} {last - 8} L {x} {last} L {x + 5} {last - 8} z" fill="#555"/>'
    )


def _text(x: float, y: float, text: str, style: str = "", title: str = "", anchor: str = "start") -> str:
    fonts = {"bold": ' font-weight="bold"', "mono": ' font-family="monospace"'}
    hint = f"<title>{escape(title)}</title>" if title else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{fonts.get(style, "")}>{hint}{escape(text)}</text>'


def _svg(width: int, height: int, drawn: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="12">', *drawn, "</svg>"])


PICTURES = {"stages": stages_as_svg, "passes": passes_as_svg}


def _insert(_app: Sphinx, name: str, source: list[str]) -> None:
    if name == PAGE.stem:
        source[0] = _BLOCK.sub(_picture, source[0])


def _picture(block: re.Match[str]) -> str:
    return f'<div class="picture">\n{PICTURES[block[1]]()}\n</div>\n' if block[1] in PICTURES else block[0]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
