"""Tensor maps at launch: evaluated from a recipe and the arguments, verified, and encoded for the simulator.

The simulator reads the layout of ptxas' lowering of tensormap.replace; for a GPU, the driver encodes the map
(driver_tensor_map.py).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tilec.errors import InputError, Note, SourceLocation
from tilec.frozen import Frozen, field_names
from tilec.lowering.target import target_of_architecture
from tilec.lowering.tma.rule import Violation
from tilec.lowering.tma.rules import (
    MAX_BOX,
    MAX_CHANNELS,
    MAX_ELEMENT_STRIDE,
    MAX_PIXELS,
    MAX_RANK,
    corner_range,
    violations,
)
from tilec.lowering.tma.tensor_map import (
    ELEMENTS,
    FILLS,
    IM2COL_KINDS,
    INTERLEAVES,
    KINDS,
    L2_PROMOTIONS,
    SWIZZLES,
    TensorMap,
    corner_rank,
    with_usable_strides,
)
from tilec.runtime.json_record import Record
from tilec.runtime.tensor_maps import expression
from tilec.runtime.tensor_maps.expression import Expression, Operation, Parameter
from tilec.runtime.tensor_maps.padding_memory import reads_nothing

SIZE_BYTES = 128


class Recipe(Frozen):
    """The fields of a tensor map; base, extents and strides are expressions of the entry arguments.

    Base and strides (from dimension 1) are in bytes. With `list`, the entry argument of the table of a list, there is a
    map for each array, and the expressions are of the words of the array. The other fields are those of TensorMap.
    """

    base: Expression
    element: str
    extents: tuple[Expression, ...]
    strides: tuple[Expression, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    l2_promotion: str = "none"
    location: str = ""
    kind: str = "tiled"
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()
    channels_per_pixel: int = 0
    pixels_per_column: int = 0
    list: int | None = None


_IM2COL_FIELDS = {"kind", "lower", "upper", "channels_per_pixel", "pixels_per_column"}
_COMMON_FIELDS = set(field_names(Recipe)) - _IM2COL_FIELDS - {"box", "list"}


def _fields_of(kind: str) -> list[str]:
    """The fields of launch metadata of this kind; maps of kind tiled need not name it."""
    own = _IM2COL_FIELDS if kind in IM2COL_KINDS else {"box"}
    return [name for name in field_names(Recipe) if name in _COMMON_FIELDS | own]


def read_recipe(record: Record) -> Recipe:
    """The recipe in launch metadata; raises InputError, naming a missing or invalid field."""
    kind = record.get("kind", "tiled").text(KINDS)
    record.only({*_fields_of(kind), "kind", "list"})
    extents = record["extents"].items(range(3 if kind in IM2COL_KINDS else 1, MAX_RANK + 1))
    rank = len(extents)
    ones = [1] * rank
    return Recipe(
        base=_read_expression(record["base"]),
        element=record["element"].text(ELEMENTS),
        extents=tuple(_read_expression(item) for item in extents),
        strides=tuple(_read_expression(item) for item in record["strides"].items(rank - 1)),
        element_strides=tuple(
            i.integer(1, MAX_ELEMENT_STRIDE) for i in record.get("element_strides", ones).items(rank)
        ),
        swizzle=record.get("swizzle", "none").text(SWIZZLES),
        interleave=record.get("interleave", "none").text(INTERLEAVES),
        fill=record.get("fill", "zero").text(FILLS),
        l2_promotion=record.get("l2_promotion", "none").text(L2_PROMOTIONS),
        location=record.get("location", "").text(),
        kind=kind,
        list=record["list"].integer(0) if "list" in record.fields() else None,
        **(_read_box(record, rank) if kind == "tiled" else _read_pixels(record, kind, rank)),
    )


def _read_box(record: Record, rank: int) -> dict[str, Any]:
    return {"box": tuple(item.integer(1, MAX_BOX) for item in record["box"].items(rank))}


def _read_pixels(record: Record, kind: str, rank: int) -> dict[str, Any]:
    count = corner_rank(kind, rank)
    low, high = corner_range(count)
    return {
        "box": (),
        "lower": tuple(item.integer(low, high) for item in record["lower"].items(count)),
        "upper": tuple(item.integer(low, high) for item in record["upper"].items(count)),
        "channels_per_pixel": record["channels_per_pixel"].integer(1, MAX_CHANNELS),
        "pixels_per_column": record["pixels_per_column"].integer(1, MAX_PIXELS),
    }


def _read_expression(record: Record) -> Expression:
    if isinstance(record.value, int) and not isinstance(record.value, bool):
        return record.value
    if "parameter" in record.fields():
        return Parameter(record.only({"parameter"})["parameter"].integer(0))
    name = record.only({"op", "arguments"})["op"].text(expression.OPERATORS)
    left, right = record["arguments"].items(2)
    return Operation(name, _read_expression(left), _read_expression(right))


def write_recipe(recipe: Recipe) -> dict[str, object]:
    """The JSON of launch metadata for this recipe."""
    fields: dict[str, object] = {name: getattr(recipe, name) for name in _fields_of(recipe.kind)}
    fields["base"] = expression.to_json(recipe.base)
    fields["extents"] = [expression.to_json(extent) for extent in recipe.extents]
    fields["strides"] = [expression.to_json(stride) for stride in recipe.strides]
    written = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return written if recipe.list is None else {"list": recipe.list, **written}


def make(
    recipe: Recipe, values: Sequence[int], names: Sequence[str], target: str | None = None, unconfirmed: bool = False
) -> TensorMap:
    """The tensor map for these entry arguments.

    An extent may be 0 and the box of an im2col kind empty, which cannot be encoded: see
    tilec.runtime.tensor_maps.padding_memory. Raises InputError, with the source location, for a violated rule.
    """
    tensor_map = TensorMap(
        element=recipe.element,
        extents=tuple(expression.evaluate(extent, values) for extent in recipe.extents),
        strides=tuple(expression.evaluate(stride, values) for stride in recipe.strides),
        box=recipe.box,
        element_strides=recipe.element_strides,
        base=expression.evaluate(recipe.base, values),
        swizzle=recipe.swizzle,
        interleave=recipe.interleave,
        fill=recipe.fill,
        l2_promotion=recipe.l2_promotion,
        kind=recipe.kind,
        lower=recipe.lower,
        upper=recipe.upper,
        channels_per_pixel=recipe.channels_per_pixel,
        pixels_per_column=recipe.pixels_per_column,
    )
    if reads_nothing(tensor_map):
        return tensor_map
    tensor_map = with_usable_strides(tensor_map)
    violation = _first_violation(tensor_map, target, unconfirmed)
    if violation is not None:
        raise _error(recipe, violation, names)
    return tensor_map


# Launches usually repeat their arguments, and a look-up is faster than the rules.
@lru_cache(maxsize=256)
def _first_violation(tensor_map: TensorMap, target: str | None, unconfirmed: bool) -> Violation | None:
    known = None if target is None else target_of_architecture(target)
    return next(violations(tensor_map, known, unconfirmed), None)


_FIELD_NAMES = {
    "base": "base address",
    "extents": "extent",
    "strides": "stride",
    "box": "box extent",
    "element_strides": "element stride",
    "lower": "lower corner",
    "upper": "upper corner",
    "channels_per_pixel": "channels per pixel",
    "pixels_per_column": "pixels per column",
}


def _error(recipe: Recipe, violation: Violation, names: Sequence[str]) -> InputError:
    field = _FIELD_NAMES.get(violation.field, violation.field)
    subject = field if violation.dimension is None else f"{field} of dimension {violation.dimension}"
    over = expression.to_text(recipe.base, names)
    message = f"tensor map over '{over}', {subject}: expected {violation.expected}, got {violation.found}"
    message += f" ({violation.source}){_advice(recipe, violation, names)}"
    return InputError(message, location_of(recipe.location), _origin(recipe, violation, names))


def _advice(recipe: Recipe, violation: Violation, names: Sequence[str]) -> str:
    """The signature that has no map with this stride of 0, as that of ct.launch; empty for other violations."""
    expressed = _violated(recipe, violation)
    if violation.field != "strides" or violation.found != "0" or expressed is None:
        return ""
    text = expression.to_text(expressed, names)
    known = next((name for name in names if name.partition(".strides[")[1] and name in text), None)
    stride = "the stride is the constant 0" if known is None else f"{known} is 0, as in 'strides (0,1)'"
    return f": compile for a signature in which {stride}, or pass a copy of the array"


def _origin(recipe: Recipe, violation: Violation, names: Sequence[str]) -> list[Note]:
    """A note with the expression of the arguments for the value in violation."""
    expressed = _violated(recipe, violation)
    return [] if expressed is None else [Note(f"its value is {expression.to_text(expressed, names)}")]


def _violated(recipe: Recipe, violation: Violation) -> Expression | None:
    """The expression of the field in violation; None for a field that is not an expression."""
    if violation.field == "base":
        return recipe.base
    if violation.field in ("extents", "strides") and violation.dimension is not None:
        return getattr(recipe, violation.field)[violation.dimension - (violation.field == "strides")]
    return None


def location_of(text: str) -> SourceLocation | None:
    """The location of `file:line:column` or `file:line`, None for other text."""
    file, *numbers = text.rsplit(":", 2)
    if len(numbers) == 2 and not numbers[0].isdigit():
        file, numbers = f"{file}:{numbers[0]}", numbers[1:]
    if not file or not numbers or not all(number.isdigit() for number in numbers):
        return None
    return SourceLocation(file, *map(int, numbers))


# Offset of the fields of the im2col kinds, which only maps for the simulator have there.
IM2COL_OFFSET = 0x40


def encode_for_simulator(tensor_map: TensorMap) -> bytes:
    """The 128 bytes that the simulator reads.

    The first 64 have the layout of ptxas' lowering of tensormap.replace, and bytes it never writes are zero. NVIDIA
    does not publish where the im2col fields are: they follow at IM2COL_OFFSET as the kind (u32), the corners in the
    order W, H, D (i16[3] each), channels per pixel and pixels per column (u16).
    """
    element, swizzle = ELEMENTS[tensor_map.element], SWIZZLES[tensor_map.swizzle]
    flags = (
        (tensor_map.rank - 1) << 4
        | element.code << 7
        | INTERLEAVES[tensor_map.interleave] << 11
        | swizzle.code << 13
        | FILLS[tensor_map.fill] << 15
        | element.is_tf32 << 16
        | swizzle.atomicity << 19
    )
    strides = [stride >> 4 for stride in _known(tensor_map.strides, 4, 0)]
    extents = [extent - 1 for extent in _known(tensor_map.extents, 5, 1)]
    box = [extent - 1 for extent in _known(tensor_map.box, 5, 1)]
    element_strides = [stride - 1 for stride in _known(tensor_map.element_strides, 5, 1)]
    high_bits = sum((stride >> 32) << (4 * index) for index, stride in enumerate(strides))
    steps = sum(step << (3 * index) for index, step in enumerate(element_strides)) | box[0] << 24
    low = [stride & 0xFFFFFFFF for stride in strides]
    packed = struct.pack("<QI4IH2x5II4B", tensor_map.base, flags, *low, high_bits, *extents, steps, *box[1:])
    fields = _im2col_fields(tensor_map) if tensor_map.is_im2col else b""
    return (packed.ljust(IM2COL_OFFSET, b"\0") + fields).ljust(SIZE_BYTES, b"\0")


def _im2col_fields(tensor_map: TensorMap) -> bytes:
    corners = (*_known(tensor_map.lower, 3, 0), *_known(tensor_map.upper, 3, 0))
    counts = tensor_map.channels_per_pixel, tensor_map.pixels_per_column
    return struct.pack("<I6h2H", KINDS[tensor_map.kind].code, *corners, *counts)


def _known(values: Sequence[int | None], length: int, padding: int) -> list[int]:
    known = [value for value in values if value is not None]
    return known + [padding] * (length - len(known))
