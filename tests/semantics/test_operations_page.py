"""docs/operations.md equals the text that operations_page.py makes from the vectors and their refusals."""

from __future__ import annotations

from operations_page import PAGE, page


def test_page_equals_the_generated_text() -> None:
    assert PAGE.read_text() == page()
