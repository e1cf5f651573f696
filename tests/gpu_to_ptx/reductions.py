"""The text of tile_gpu.reduce."""

from __future__ import annotations


def segments(count: int) -> str:
    """`count` values of a group that holds up to 32."""
    return "array<i32: " + ", ".join(["1"] * count + ["0"] * (32 - count)) + ">"


def reduce(
    results: str, operands: str, types: list[str], outcomes: list[str], elements: list[str], body: str, dimension: int
) -> str:
    """`results = reduce(operands)` whose body gets %e0, %acc0, %e1, %acc1, .. and ends in yields()."""
    return fold_text("reduce", results, operands, types, outcomes, elements, body, dimension)


def fold_text(
    name: str,
    results: str,
    operands: str,
    types: list[str],
    outcomes: list[str],
    elements: list[str],
    body: str,
    dimension: int,
    attributes: str = "",
) -> str:
    """A reduction or scan."""
    arguments = ", ".join(f"%e{i}: {e}, %acc{i}: {e}" for i, e in enumerate(elements))
    identities = ", ".join(f"0.0 : {e}" if e[0] in "fb" else f"0 : {e}" for e in elements)
    return f"""{results} = "tile_gpu.{name}"({operands}) ({{
        ^bb0({arguments}):
        {body}
        }}) {{dimension = {dimension} : i32, identities = [{identities}]{attributes},
          operandSegmentSizes = {segments(len(types))}, resultSegmentSizes = {segments(len(outcomes))}}}
          : ({", ".join(types)}) -> ({", ".join(outcomes)})"""


def yields(values: str, elements: list[str]) -> str:
    """The end of a body."""
    types = ", ".join(elements)
    return f'"tile_gpu.yield"({values}) {{operandSegmentSizes = {segments(len(elements))}}} : ({types}) -> ()'
