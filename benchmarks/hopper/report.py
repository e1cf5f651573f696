"""Writes what was measured on a Hopper GPU as Markdown: times, constants of the cost model, and replayed launches.

    python benchmarks/hopper/report.py FOLDER > benchmarks/results/h200.md

FOLDER has the files `timing.json` and `constants.json` of the scripts, `replay.md`, which explains the differences that
replay.py found, and `machine.txt`, a line that names the GPU and the software.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

FILES = ("machine.txt", "timing.json", "constants.json", "replay.md")
TILEC, TILEIRAS, TRITON = "tilec", "tileiras", "Triton"


def report(folder: Path) -> Iterator[str]:
    """The lines of the page."""
    yield from ("# Measured on an H200", "", (folder / "machine.txt").read_text().strip(), "")
    yield from ("## Times", "", *_timing(json.loads((folder / "timing.json").read_text())), "")
    yield from ("## Launches of the tests", "", (folder / "replay.md").read_text().strip(), "")
    yield from ("## Constants of the cost model", "", *_constants(json.loads((folder / "constants.json").read_text())))


def _timing(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield (
        "`python benchmarks/hopper/timing.py`: medians of 20 launches with a cold L2 cache, all programs of a line in "
        "turn. A ratio above 1 means that tilec is faster. Libraries are those of torch: cuBLAS, cuDNN, "
        "FlashAttention 2, cuFFT, or its own kernels. All results are within their bound of those in float32."
    )
    yield ""
    yield from _table(["kernel", "tilec, us", "rate", "library", "ratio", "Triton", "tileiras"], _time_lines(rows))


def _time_lines(rows: list[dict[str, Any]]) -> Iterator[list[str]]:
    cases = dict.fromkeys(row["case"] for row in rows)
    for case in cases:
        by_program = {row["program"]: row for row in rows if row["case"] == case and "us" in row}
        if TILEC not in by_program:
            continue
        own = by_program[TILEC]
        libraries = {name: row for name, row in by_program.items() if not name.startswith((TILEC, TILEIRAS, TRITON))}
        best = min(libraries, key=lambda name: libraries[name]["us"], default=None)
        rate = f"{own['tflops']:.0f} TFLOP/s" if own["tflops"] > 100 else f"{own['tbytes']:.2f} TB/s"
        yield [
            case,
            f"{own['us']:.1f}",
            rate,
            best or "",
            _ratio(own, libraries[best] if best else None),
            _ratio(own, by_program.get(TRITON)),
            _ratio(own, by_program.get(TILEIRAS)),
        ]


def _ratio(own: dict[str, Any], other: dict[str, Any] | None) -> str:
    return "" if other is None else f"{other['us'] / own['us']:.2f}"


def _constants(found: dict[str, Any]) -> Iterator[str]:
    yield (
        "`python benchmarks/hopper/constants.py`, SM clock 1.98 GHz for one thread, 1.55 to 1.8 GHz while all SMs "
        "multiply. The values that the model uses are in `docs/cost_model.md`."
    )
    yield ""
    rows = ([row["name"], row["detail"], f"{row['median']:.4g}", row["unit"]] for row in found["rows"])
    yield from _table(["constant", "measurement", "median", "unit"], rows)


def _table(titles: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the measurements")
    folder = parser.parse_args().folder
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        parser.error(f"argument FOLDER: {folder} has no {', '.join(missing)}: expected {', '.join(FILES)}")
    print("\n".join(report(folder)))


if __name__ == "__main__":
    main()
