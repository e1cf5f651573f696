"""Constant folding of one operation by the interpreter."""

from __future__ import annotations

import numpy as np

from tilec.dialect.fields import ONE, OPTIONAL, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import groups
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.constants import array_of_elements, scalar_of_attribute
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.prepare import Preparation, element_of
from tilec.runtime.interpret.step import TileType

# A constant holds the upper 19 bits of a tf32 in three bytes.
_TF32_BYTES, _TF32_SHIFT = 3, 13


def evaluate(op: ir.OpView) -> list[ir.Attribute] | None:
    """The elements of each result of a pure operation without regions whose operands are all constants.

    None if a result is undefined, violates an assumption of the operation or holds a NaN, whose bits are unspecified.
    """
    step = Preparation().step(op)
    constants = {name: [value.owner.value for value in group] for name, group in (groups(op, "operand") or {}).items()}
    as_scalars = step.elementwise and all(each.is_splat for group in constants.values() for each in group)
    operands = [_operand(field, constants[field.name], as_scalars) for field in op.operand_fields]
    machine = Machine(None, (0, 0, 0), (1, 1, 1), [], {}, str, check=True)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        try:
            outcome = step.meaning(step, machine, *operands)
        except Fault:
            return None
    results = outcome if isinstance(outcome, tuple) else (outcome,)
    types = [value.type for value in op.operation.results]
    made = [_constant(*each) for each in zip(results, step.result_types, types, strict=True)]
    whole = [elements for elements in made if elements is not None]
    return whole if len(whole) == len(made) else None


def _operand(
    field: ValueField, constants: list[ir.DenseElementsAttr], as_scalars: bool
) -> np.ndarray | tuple[np.ndarray, ...] | None:
    tiles = [_tile(constant, as_scalars) for constant in constants]
    if field.arity == ONE:
        return tiles[0]
    if field.arity == OPTIONAL:
        return tiles[0] if tiles else None
    return tuple(tiles)


def _tile(constant: ir.DenseElementsAttr, as_scalar: bool) -> np.ndarray:
    element = element_of(ir.RankedTensorType(constant.type).element_type)
    if as_scalar:
        return np.asarray(scalar_of_attribute(constant.get_splat_value(), element))
    return array_of_elements(constant, element)


def _constant(result: object, kind: TileType, type: ir.Type) -> ir.Attribute | None:
    tile, element = np.asarray(result), kind.element
    if element.is_float and np.isnan(element.format.decode(tile)).any():
        return None
    return elements_of_array(tile, element, ir.RankedTensorType.get(kind.shape, type.element))


def elements_of_array(tile: np.ndarray, element: TileElement, tensor: ir.RankedTensorType) -> ir.Attribute:
    """The dense elements attribute of a tile, bitwise equal; a 0-D tile makes a splat."""
    patterns = element.to_bits(np.asarray(tile, order="C")).reshape(-1)
    if (patterns == patterns[0]).all():
        patterns = patterns[:1]
    if element.name == "i1":
        truths = [ir.BoolAttr.get(bool(pattern)) for pattern in patterns]
        if len(truths) == 1:
            return ir.DenseElementsAttr.get_splat(tensor, truths[0])
        return ir.DenseElementsAttr.get(truths, tensor)
    return ir.Attribute.parse(f'dense<"0x{_stored(patterns, element).hex()}"> : {tensor}')


def _stored(patterns: np.ndarray, element: TileElement) -> bytes:
    if element.name != "tf32":
        return patterns.tobytes()
    codes = (patterns >> np.uint32(_TF32_SHIFT)).astype("<u4")
    return codes.view(np.uint8).reshape(-1, 4)[:, :_TF32_BYTES].tobytes()
