"""Diagnostics have notes with the related location and its source line, as in MLIR."""

from __future__ import annotations

import pytest

from tilec.errors import TilecError
from tilec.text_input.module import Module


def diagnostics(body: str) -> list[str]:
    """The lines of the error message of a module whose body starts on the second line."""
    text = f"cuda_tile.module @m {{\n{body}\n}}"
    with pytest.raises(TilecError) as caught:
        Module.parse(text, "<text>")
    return str(caught.value).splitlines()


def test_redefinition_of_a_value() -> None:
    assert diagnostics("entry @k(%a: tile<i32>) {\n  %b = absi %a : tile<i32>\n  %b = absi %a : tile<i32>\n}") == [
        "<text>:4:3: error: redefinition of SSA value '%b'",
        "      %b = absi %a : tile<i32>",
        "      ^",
        "<text>:3:3: note: previously defined here",
        "      %b = absi %a : tile<i32>",
        "      ^",
    ]


def test_redefinition_of_a_symbol() -> None:
    assert diagnostics("entry @k() { }\nentry @k() { }") == [
        "<text>:3:1: error: redefinition of symbol named 'k'",
        "    entry @k() { }",
        "    ^",
        "<text>:2:1: note: see existing symbol definition here",
        "    entry @k() { }",
        "    ^",
    ]


def test_terminator_inside_an_unexpected_ancestor() -> None:
    body = """entry @k(%c: tile<i1>, %i: tile<i32>) {
  loop {
    for %x in (%i to %i, step %i) : tile<i32> {
      if %c {
        break
      }
    }
  }
}"""
    message = (
        "'cuda_tile.break' op can only be nested within a ancestor chain of 'cuda_tile.loop', 'cuda_tile.if' "
        "operations, but found 'cuda_tile.for'"
    )
    assert diagnostics(body) == [
        f"<text>:6:9: error: {message}",
        "            break",
        "            ^",
        "<text>:4:5: note: see unexpected ancestor operation",
        "        for %x in (%i to %i, step %i) : tile<i32> {",
        "        ^",
    ]


@pytest.mark.parametrize(
    ("use", "definition"),
    [
        (
            "%b = addi %a, %late : tile<i32>\n  %late = absi %a : tile<i32>",
            "<text>:4:3: note: it is defined here, after its use",
        ),
        (
            "%b = addi %a, %n : tile<i32>\n  %m, %n, %o = get_tile_block_id : tile<i32>",
            "<text>:4:7: note: it is defined here, after its use",
        ),
        (
            "%b = addi %a, %n#1 : tile<i32>\n  %n:2 = loop : tile<i32>, token { break %a, %a : tile<i32>, tile<i32> }",
            "<text>:4:3: note: it is defined here, after its use",
        ),
    ],
    ids=["one", "of several", "of a pack"],
)
def test_use_before_definition(use: str, definition: str) -> None:
    found = diagnostics(f"entry @k(%a: tile<i32>) {{\n  {use}\n}}")
    assert found[0].startswith("<text>:3:17: error: use of undeclared SSA value name '%")
    assert found[3] == definition


def test_use_after_the_region_of_the_definition() -> None:
    found = diagnostics(
        "entry @k(%c: tile<i1>, %a: tile<i32>) {\n  if %c {\n    %b = absi %a : tile<i32>\n  }\n"
        "  %d = absi %b : tile<i32>\n}"
    )
    assert found[0] == "<text>:6:13: error: use of undeclared SSA value name '%b'"
    assert found[3] == "<text>:4:5: note: it is defined here, in a region that has ended"


def test_result_number_out_of_range() -> None:
    found = diagnostics(
        "entry @k(%a: tile<i32>) {\n  %b:2 = loop : tile<i32>, tile<i32> { break %a, %a : tile<i32>, tile<i32> }\n"
        "  %c = absi %b#2 : tile<i32>\n}"
    )
    assert found[0] == "<text>:4:13: error: use of undeclared SSA value name '%b#2'"
    assert found[3] == "<text>:3:3: note: '%b' has no value 2"


def test_undefined_name_has_no_note() -> None:
    assert len(diagnostics("entry @k(%a: tile<i32>) {\n  %b = addi %a, %none : tile<i32>\n}")) == 3


@pytest.mark.parametrize(
    ("use", "column"),
    [
        ("%b = absi %a : tile<i64>", 13),
        ("%b = addi %c, %a : tile<i64>", 17),
        ("%b = cmpi equal %c, %a, signed : tile<i64> -> tile<i1>", 23),
        ("yield %a : tile<i64>", 9),
        ('"cuda_tile.absi"(%a) : (!cuda_tile.tile<i64>) -> !cuda_tile.tile<i64>', 20),
    ],
)
def test_type_mismatch_shows_the_definition(use: str, column: int) -> None:
    found = diagnostics(f"entry @k(%a: tile<i32>, %c: tile<i64>) {{\n  {use}\n}}")
    assert found[0] == (
        f"<text>:3:{column}: error: use of value '%a' expects different type than prior uses: "
        "'tile<i64>' vs 'tile<i32>'"
    )
    assert found[3] == "<text>:2:10: note: it is defined here, as 'tile<i32>'"
