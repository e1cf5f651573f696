"""A schedule as an SVG drawing: one row per role and per unit, over one interval of the steady state."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from tilec.lowering.schedule.answer import Answer
from tilec.lowering.schedule.drawing.chart import Row, rows, summary
from tilec.lowering.schedule.problem import Problem

# Pixels.
_LABEL, _WIDTH, _ROW, _TOP = 150, 900, 22, 30
_COLORS = ("#8ecae6", "#ffb703", "#90be6d", "#f28482", "#cdb4db", "#b8b8b8", "#e9c46a", "#84a59d")


def drawing(problem: Problem, answer: Answer) -> str:
    """The text of an SVG file; each operation has the same color in all rows."""
    listed = list(rows(problem, answer.schedule))
    height = _TOP + _ROW * len(listed) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABEL + _WIDTH + 10}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<text x="4" y="16">{escape(problem.name)}: {escape(summary(answer))}</text>',
    ]
    for position, row in enumerate(listed):
        lines += _row(problem, answer.schedule.interval, row, _TOP + _ROW * position)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _row(problem: Problem, interval: int, row: Row, top: int) -> Iterator[str]:
    name, spans = row
    yield f'<text x="4" y="{top + 14}">{escape(name)}</text>'
    yield f'<rect x="{_LABEL}" y="{top}" width="{_WIDTH}" height="{_ROW - 4}" fill="#f4f4f4"/>'
    for number, start, busy in spans:
        for first, last in _pieces(interval, start, busy):
            yield _box(problem.operations[number].name, _COLORS[number % len(_COLORS)], interval, first, last, top)


def _pieces(interval: int, start: int, busy: int) -> Iterator[tuple[int, int]]:
    """The clocks of one interval during which an operation is busy: one piece, or two if it continues in the next."""
    first, last = start % interval, start % interval + busy
    if busy:
        yield first, min(last, interval)
    if last > interval:
        yield 0, last - interval


def _box(name: str, color: str, interval: int, first: int, last: int, top: int) -> str:
    left, width = _LABEL + _WIDTH * first / interval, _WIDTH * (last - first) / interval
    # About seven pixels per character.
    label = f'<text x="{left + 3:.1f}" y="{top + 13}">{escape(name)}</text>' if width > 7 * len(name) else ""
    return (
        f'<g><title>{escape(name)}</title><rect x="{left:.1f}" y="{top}" width="{max(width, 1):.1f}" '
        f'height="{_ROW - 4}" fill="{color}"/>{label}</g>'
    )
