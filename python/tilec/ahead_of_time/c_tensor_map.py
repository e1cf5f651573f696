"""C statements that fill in and encode a tensor map from its recipe."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.lowering.tma.tensor_map import (
    ELEMENTS,
    FILLS,
    INTERLEAVES,
    KINDS,
    L2_PROMOTIONS,
    SWIZZLES,
    TensorMap,
    corner_rank,
)
from tilec.runtime.tensor_maps.expression import Expression, Operation, Parameter
from tilec.runtime.tensor_maps.padding_memory import extent_of_padding
from tilec.runtime.tensor_maps.tensor_map import Recipe

# The functions of the driver, as c_support.py names them.
_KINDS = {
    "cuTensorMapEncodeTiled": "TILEC_TILED",
    "cuTensorMapEncodeIm2col": "TILEC_IM2COL",
    "cuTensorMapEncodeIm2colWide": "TILEC_IM2COL_WIDE",
}
_SIGNS = {"add": "+", "sub": "-", "mul": "*"}
_DIVISIONS = ("floordiv", "ceildiv")


def tensor_map_lines(recipe: Recipe, index: int) -> list[str]:
    """The statements that encode the map to `maps[index]` from the entry arguments in `values`."""
    expressions = (recipe.base, *recipe.extents, *recipe.strides)
    divisors = {c_text(divisor) for expression in expressions for divisor in _divisors(expression)}
    return [
        *(f"  if ({divisor} == 0)\n    return CUDA_ERROR_INVALID_VALUE;" for divisor in sorted(divisors)),
        *encode_lines(recipe, str(index), index),
        "  if (status != CUDA_SUCCESS)",
        "    return status;",
    ]


def encode_lines(recipe: Recipe, slot: str, index: int) -> list[str]:
    """The statements that encode map `index` of a kernel to `maps[slot]`, and write the status."""
    return [
        "  memset(&map, 0, sizeof map);",
        *(f"  map.{field} = {value};" for field, value in _fields(recipe)),
        f"  status = tilec_encode(&maps[{slot}], &map, {index}, kernel, stream);",
    ]


def _fields(recipe: Recipe) -> Iterator[tuple[str, object]]:
    rank, element, kind = len(recipe.extents), ELEMENTS[recipe.element], KINDS[recipe.kind]
    yield "kind", _KINDS[kind.function]
    yield "type", element.host_enumerator
    yield "interleave", INTERLEAVES[recipe.interleave]
    yield "swizzle", SWIZZLES[recipe.swizzle].host_enumerator
    yield "promotion", L2_PROMOTIONS[recipe.l2_promotion]
    yield "fill", FILLS[recipe.fill]
    yield "mode", kind.mode or 0
    yield "corners", corner_rank(recipe.kind, rank)
    yield "rank", rank
    yield "channels", recipe.channels_per_pixel
    yield "pixels", recipe.pixels_per_column
    yield "granule_bytes", _granule_bytes(recipe)
    yield "extent_of_padding", extent_of_padding(recipe.element)
    yield "base", c_text(recipe.base)
    for field in ("box", "element_strides", "lower", "upper"):
        yield from ((f"{field}[{axis}]", value) for axis, value in enumerate(getattr(recipe, field)))
    for field in ("extents", "strides"):
        yield from ((f"{field}[{axis}]", c_text(value)) for axis, value in enumerate(getattr(recipe, field)))


def _granule_bytes(recipe: Recipe) -> int:
    return TensorMap(recipe.element, (1,), (), (1,), (1,), interleave=recipe.interleave).granule_bytes


def c_text(expression: Expression) -> str:
    """The expression in C, of type int64_t, over the array `values`."""
    if isinstance(expression, Parameter):
        return f"values[{expression.index}]"
    if isinstance(expression, Operation):
        left, right = c_text(expression.left), c_text(expression.right)
        sign = _SIGNS.get(expression.name)
        return f"({left} {sign} {right})" if sign else f"tilec_{expression.name}({left}, {right})"
    return f"INT64_C({expression})"


def _divisors(expression: Expression) -> Iterator[Expression]:
    """The divisors that are not constants."""
    if isinstance(expression, Operation):
        if expression.name in _DIVISIONS and not isinstance(expression.right, int):
            yield expression.right
        yield from _divisors(expression.left)
        yield from _divisors(expression.right)
