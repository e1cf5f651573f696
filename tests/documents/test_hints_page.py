"""docs/hints.md states the hints that are accepted, with the ranges of the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilec as ct
from tilec.compile_options import CHOICES, SIZES, SWITCHES
from tilec.language.hints import Hints

PAGE = (Path(__file__).parents[2] / "docs" / "hints.md").read_text()
_TABLE = PAGE.partition("| hint | values |")[2].partition("\n\n")[0]
_ROWS = [[cell.strip() for cell in row.strip("|").split("|")] for row in _TABLE.splitlines()[2:]]
# Hint -> its values, and where it is accepted.
VALUES = {name: (row[1], row[2].split(", ")) for row in _ROWS for name in re.findall(r"`(\w+)`", row[0])}
OF_KERNELS = set(Hints.__annotations__)


def _kernel(name: str, value: int) -> object:
    return ct.kernel(**{name: value})(lambda: None)


@pytest.mark.parametrize("name", [*SWITCHES, *SIZES, *CHOICES])
def test_hint_of_a_compile_is_listed(name: str) -> None:
    assert "compile" in VALUES[name][1]


@pytest.mark.parametrize("name", SIZES)
def test_range_of_a_compile_is_that_of_the_source(name: str) -> None:
    sizes = SIZES[name][1]
    assert VALUES[name][0].startswith(f"{sizes.start} to {sizes.stop - 1}")


@pytest.mark.parametrize("name", CHOICES)
def test_choices_of_a_compile_are_those_of_the_source(name: str) -> None:
    assert tuple(VALUES[name][0].split(", ")) == CHOICES[name][1]


@pytest.mark.parametrize("name", [name for name, (_, places) in VALUES.items() if "kernel" in places])
def test_range_of_a_kernel_is_accepted(name: str) -> None:
    """The ends of the range are accepted, and the integers beyond them are not."""
    least, greatest = map(int, re.findall(r"\d+", VALUES[name][0]))
    power = "power of two" in VALUES[name][0]
    for value in (least, greatest):
        _kernel(name, value)
    for value in (least - 1, greatest + 1, *([3] if power else [])):
        with pytest.raises(ct.TileError, match="expected an integer from"):
            _kernel(name, value)
    if not power:
        _kernel(name, 3)


def test_hints_of_kernels_are_listed() -> None:
    listed = {name for name, (_, places) in VALUES.items() if "kernel" in places}
    assert listed == OF_KERNELS
