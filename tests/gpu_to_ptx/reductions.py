"""The text of tile_gpu.reduce and tile_gpu.scan."""

from __future__ import annotations


def segments(count: int) -> str:
    """The segment sizes of a variadic group of `count` values, which has 32 optional operands."""
    return "array<i32: " + ", ".join(["1"] * count + ["0"] * (32 - count)) + ">"


def reduce(
    results: str,
    operands: str,
    types: list[str],
    result_types: list[str],
    elements: list[str],
    body: str,
    dimension: int,
) -> str:
    """`results = reduce(operands)`, whose body has the arguments %e0, %acc0, %e1, %acc1, .. and ends in yields()."""
    return reduction_text("reduce", results, operands, types, result_types, elements, body, dimension)


def reduction_text(
    name: str,
    results: str,
    operands: str,
    types: list[str],
    result_types: list[str],
    elements: list[str],
    body: str,
    dimension: int,
    attributes: str = "",
) -> str:
    """The text of a reduction or a scan, by `name`."""
    arguments = ", ".join(f"%e{i}: {e}, %acc{i}: {e}" for i, e in enumerate(elements))
    identities = ", ".join(f"0.0 : {e}" if e[0] in "fb" else f"0 : {e}" for e in elements)
    return f"""{results} = "tile_gpu.{name}"({operands}) ({{
        ^bb0({arguments}):
        {body}
        }}) {{dimension = {dimension} : i32, identities = [{identities}]{attributes},
          operandSegmentSizes = {segments(len(types))}, resultSegmentSizes = {segments(len(result_types))}}}
          : ({", ".join(types)}) -> ({", ".join(result_types)})"""


def yields(values: str, elements: list[str]) -> str:
    """The terminator of a reduction body."""
    types = ", ".join(elements)
    return f'"tile_gpu.yield"({values}) {{operandSegmentSizes = {segments(len(elements))}}} : ({types}) -> ()'
