"""Tensor maps at launch: evaluated from a recipe and the arguments, verified, and encoded for the simulator.

The simulator reads the layout of ptxas' lowering of tensormap.replace; for a GPU, the driver encodes the map
(driver_tensor_map.py).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tilec.errors import InputError, Note, SourceLocation
from tilec.lowering.tma.contract import (
    ELEMENTS,
    FILLS,
    INTERLEAVES,
    L2_PROMOTIONS,
    MAX_BOX,
    MAX_ELEMENT_STRIDE,
    MAX_RANK,
    SWIZZLES,
    TensorMap,
    Violation,
    violations,
    with_usable_strides,
)
from tilec.runtime import expression
from tilec.runtime.expression import Expression, Operation, Parameter
from tilec.runtime.json_record import Record
from tilec.runtime.padding_memory import has_no_elements

SIZE_BYTES = 128


@dataclass(frozen=True)
class Recipe:
    """The expressions of a tensor map in the entry arguments; base and strides (from dimension 1) are in bytes."""

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


_RECIPE_FIELDS = frozenset(Recipe.__dataclass_fields__)


def read_recipe(record: Record) -> Recipe:
    """The recipe in launch metadata; raises InputError, naming a missing or invalid field."""
    record.only(_RECIPE_FIELDS)
    extents = record["extents"].items(range(1, MAX_RANK + 1))
    rank = len(extents)
    ones = [1] * rank
    return Recipe(
        base=_read_expression(record["base"]),
        element=record["element"].text(ELEMENTS),
        extents=tuple(_read_expression(item) for item in extents),
        strides=tuple(_read_expression(item) for item in record["strides"].items(rank - 1)),
        box=tuple(item.integer(1, MAX_BOX) for item in record["box"].items(rank)),
        element_strides=tuple(
            i.integer(1, MAX_ELEMENT_STRIDE) for i in record.get("element_strides", ones).items(rank)
        ),
        swizzle=record.get("swizzle", "none").text(SWIZZLES),
        interleave=record.get("interleave", "none").text(INTERLEAVES),
        fill=record.get("fill", "zero").text(FILLS),
        l2_promotion=record.get("l2_promotion", "none").text(L2_PROMOTIONS),
        location=record.get("location", "").text(),
    )


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
    fields: dict[str, object] = {name: getattr(recipe, name) for name in Recipe.__dataclass_fields__}
    fields["base"] = expression.to_json(recipe.base)
    fields["extents"] = [expression.to_json(extent) for extent in recipe.extents]
    fields["strides"] = [expression.to_json(stride) for stride in recipe.strides]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def make(
    recipe: Recipe, values: Sequence[int], names: Sequence[str], target: str | None = None, unconfirmed: bool = False
) -> TensorMap:
    """The tensor map for these entry arguments.

    An extent may be 0, which cannot be encoded: see tilec.runtime.padding_memory. Raises InputError, with the source
    location, for a violated rule.
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
    )
    if has_no_elements(tensor_map):
        return tensor_map
    tensor_map = with_usable_strides(tensor_map)
    for violation in violations(tensor_map, target, unconfirmed):
        raise _error(recipe, violation, names)
    return tensor_map


_FIELD_NAMES = {
    "base": "base address",
    "extents": "extent",
    "strides": "stride",
    "box": "box extent",
    "element_strides": "element stride",
}


def _error(recipe: Recipe, violation: Violation, names: Sequence[str]) -> InputError:
    field = _FIELD_NAMES.get(violation.field, violation.field)
    subject = field if violation.dimension is None else f"{field} of dimension {violation.dimension}"
    over = expression.to_text(recipe.base, names)
    message = f"tensor map over '{over}', {subject}: expected {violation.expected}, got {violation.found}"
    return InputError(message, location_of(recipe.location), _origin(recipe, violation, names))


def _origin(recipe: Recipe, violation: Violation, names: Sequence[str]) -> list[Note]:
    """A note with the expression of the arguments for the value in violation."""
    if violation.field == "base":
        expressed = recipe.base
    elif violation.field in ("extents", "strides") and violation.dimension is not None:
        expressed = getattr(recipe, violation.field)[violation.dimension - (violation.field == "strides")]
    else:
        return []
    return [Note(f"its value is {expression.to_text(expressed, names)}")]


def location_of(text: str) -> SourceLocation | None:
    """The location of `file:line:column` or `file:line`, None for other text."""
    file, *numbers = text.rsplit(":", 2)
    if len(numbers) == 2 and not numbers[0].isdigit():
        file, numbers = f"{file}:{numbers[0]}", numbers[1:]
    if not file or not numbers or not all(number.isdigit() for number in numbers):
        return None
    return SourceLocation(file, *map(int, numbers))


def encode_for_simulator(tensor_map: TensorMap) -> bytes:
    """The 128 bytes in the layout of ptxas' lowering of tensormap.replace; bytes it never writes are zero."""
    element, swizzle = ELEMENTS[tensor_map.element], SWIZZLES[tensor_map.swizzle]
    kind = (
        (tensor_map.rank - 1) << 4
        | element.code << 7
        | INTERLEAVES[tensor_map.interleave] << 11
        | swizzle.code << 13
        | FILLS[tensor_map.fill] << 15
        | (tensor_map.element == "tf32") << 16
        | swizzle.atomicity << 19
    )
    strides = [stride >> 4 for stride in _known(tensor_map.strides, 4, 0)]
    extents = [extent - 1 for extent in _known(tensor_map.extents, 5, 1)]
    box = [extent - 1 for extent in _known(tensor_map.box, 5, 1)]
    element_strides = [stride - 1 for stride in _known(tensor_map.element_strides, 5, 1)]
    high_bits = sum((stride >> 32) << (4 * index) for index, stride in enumerate(strides))
    steps = sum(step << (3 * index) for index, step in enumerate(element_strides)) | box[0] << 24
    low = [stride & 0xFFFFFFFF for stride in strides]
    packed = struct.pack("<QI4IH2x5II4B", tensor_map.base, kind, *low, high_bits, *extents, steps, *box[1:])
    return packed.ljust(SIZE_BYTES, b"\0")


def _known(values: Sequence[int | None], length: int, padding: int) -> list[int]:
    known = [value for value in values if value is not None]
    return known + [padding] * (length - len(known))
