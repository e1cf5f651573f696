"""docs/compatibility.md equals the text that compatibility_page.py makes from the public surfaces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from compatibility_page import PAGE, Row, compared, page, rows
from public_surface import Entry, describe


def test_page_equals_the_generated_text() -> None:
    assert PAGE.read_text() == page()


class Theirs:
    """A class of cuTile Python for the tests below."""

    def load(self, index: int, *, mask: object = None, latency: int = 3) -> None: ...

    @property
    def dtype(self) -> str: ...


class Same(Theirs):
    """A class with equal members."""


class Extended(Theirs):
    def load(self, index: int, offset: int = 0, *, mask: object = None, latency: int = 3, hint: int = 0) -> None: ...

    def store(self) -> None: ...


class Reduced:
    def load(self, at: int, /, *, mask: object = 0) -> None: ...


def outcomes(found: type) -> Iterator[str]:
    theirs: Entry = describe(Theirs)
    return (f"{row.name} {row.status}" for row in rows("T", theirs, describe(found)))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Same, ["T same", "T.dtype same", "T.load same"]),
        (Extended, ["T extended: `store`", "T.dtype same", "T.load extended: `offset`, `hint`"]),
        (
            Reduced,
            ["T same", "T.dtype missing: all", "T.load missing: `index`, `mask=None`, `latency`"],
        ),
    ],
)
def test_status_of_a_class_and_its_members(found: type, expected: list[str]) -> None:
    assert list(outcomes(found)) == expected


def test_name_that_is_missing() -> None:
    assert list(rows("T", describe(Theirs), None))[0].status == "missing: all"


def test_sections_have_each_name_once() -> None:
    found: list[Row] = [row for section in compared().values() for row in section]
    assert len({row.name for row in found}) == len(found) > 250


def test_nothing_is_missing() -> None:
    assert [row.name for section in compared().values() for row in section if row.missing] == []
