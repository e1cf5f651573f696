"""A line per kernel and target with the figures of all compilers, and the lines in which tilec is behind.

The seconds of a row are None if its compile was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

_Row = dict[str, Any]
_Line = dict[str, _Row]

COLUMNS = (
    "kernel",
    "target",
    "tensor pipe",
    "busiest unit",
    "bound by",
    "instructions",
    "LDL+STL in loops",
    "compile s",
)
# The rules of the list: a share of the busiest unit below this, and figures above these multiples of tileiras'.
LEAST_SHARE, MOST_INSTRUCTIONS, MOST_SECONDS = 0.5, 1.3, 1.0
_PRODUCT, _PEER = "tilec", "tileiras"


def lines_of(rows: Sequence[_Row]) -> list[_Line]:
    """The rows of each kernel and target by compiler, in the order of the rows."""
    lines: dict[tuple[str, str], _Line] = {}
    for row in rows:
        lines.setdefault((row["kernel"], row["target"]), {})[row["compiler"]] = row
    return list(lines.values())


def overview(rows: Sequence[_Row]) -> list[list[str]]:
    """The cells of COLUMNS for each kernel and target; figures of compilers in their order, separated by `/`."""
    compilers = list(dict.fromkeys(row["compiler"] for row in rows))
    return [[*_names(line), *_model(line), *_figures(line, compilers)] for line in lines_of(rows)]


def _names(line: _Line) -> list[str]:
    row = next(iter(line.values()))
    return [row["kernel"], row["target"]]


def _model(line: _Line) -> list[str]:
    model = line.get(_PRODUCT, {}).get("model")
    if model is None:
        return ["-"] * 3
    share = model.get("tensor_share_of_loops", model["tensor_share"])
    return [f"{share:.0%}", f"{model['busiest']} {model['busiest_share']:.0%}", model["bound"]]


def _figures(line: _Line, compilers: Sequence[str]) -> list[str]:
    cells: tuple[Callable[[_Row], str], ...] = (
        lambda row: str(row["whole"]["instructions"]),
        lambda row: "+".join(map(str, row["spills_in_loops"])),
        lambda row: "-" if row["seconds"] is None else f"{row['seconds']:.2f}",
    )
    return [" / ".join(_cell(line.get(compiler), cell) for compiler in compilers) for cell in cells]


def _cell(row: _Row | None, cell: Callable[[_Row], str]) -> str:
    return "-" if row is None else "fails" if "failure" in row else cell(row)


def behind(rows: Sequence[_Row]) -> list[tuple[float, str, str, str]]:
    """Each figure in which tilec is behind: its factor, the kernel, the target and the figure; the largest first."""
    found = [(factor, *_names(line), text) for line in lines_of(rows) for factor, text in _faults(line)]
    return sorted(found, key=lambda fault: -fault[0])


def _faults(line: _Line) -> Iterator[tuple[float, str]]:
    row, peer = line.get(_PRODUCT), line.get(_PEER)
    if row is None:
        return
    if "failure" in row:
        yield float("inf"), row["failure"]
        return
    model = row["model"]
    if model and model["busiest_share"] < LEAST_SHARE:
        share = max(model["busiest_share"], 0.01)
        yield 1 / share, f"the {model['busiest']} works {share:.0%} of the time, bound by {model['bound']}"
    if spills := sum(row["spills_in_loops"]):
        of_peer = sum(peer["spills_in_loops"]) if peer and "failure" not in peer else 0
        if spills > of_peer:
            yield 1 + spills / (1 + of_peer), f"spills in loops: {spills} for {of_peer}"
    if peer is None or "failure" in peer:
        return
    count, of_peer = row["whole"]["instructions"], peer["whole"]["instructions"]
    if count > MOST_INSTRUCTIONS * of_peer:
        yield count / of_peer, f"instructions: {count:,} for {of_peer:,}"
    if None not in (row["seconds"], peer["seconds"]) and row["seconds"] > MOST_SECONDS * peer["seconds"]:
        yield row["seconds"] / peer["seconds"], f"compile: {row['seconds']:.2f} s for {peer['seconds']:.2f} s"
