"""The measured figures of README.md are those of benchmarks/results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "README.md").read_text().partition("## On an H200\n")[2].partition("\n## ")[0]
RESULTS = (ROOT / "benchmarks" / "results" / "h200.md").read_text()


def _rows(text: str) -> list[list[str]]:
    """The cells of the rows of all tables, without headings and rulers."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [cells for cells in rows if not set(cells[0]) <= set("-")]


SHOWN = [cells for cells in _rows(SECTION) if cells[1].startswith("`")]
# Name of a kernel -> time in us, and the ratios to the library, to Triton and to tileiras.
MEASURED = {cells[0]: [cells[1], *cells[4:]] for cells in _rows(RESULTS) if len(cells) == 7}


@pytest.mark.parametrize("cells", SHOWN, ids=lambda cells: cells[1])
def test_row_of_the_h200_is_that_of_the_results(cells: list[str]) -> None:
    assert cells[2:] == MEASURED[cells[1].strip("`")]


def test_range_of_the_ratios_is_that_of_the_rows() -> None:
    ratios = sorted(float(cells[3]) for cells in SHOWN)
    assert f"at {ratios[0]:.2f} to {ratios[-1]:.2f} of the speed" in SECTION


def test_number_of_repeated_launches_is_that_of_the_results() -> None:
    (launches,) = re.findall(r"([\d,]+) launches of the tests were repeated", SECTION)
    assert f"{launches} launches that tests and random kernels made" in RESULTS
    assert len(SHOWN) >= 5
