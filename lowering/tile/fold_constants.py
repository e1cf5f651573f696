"""Integer operations on constants become constants; neutral elements and moved splats go too."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.lowering.tile.integers import BINARY, UNARY, signed

# Larger tiles are folded as splats only: their elements would cost more than the operation.
MAXIMUM_ELEMENTS = 4096

_MOVES = ("broadcast", "reshape", "permute", "extract")
# Operations whose right operand, if it is this number everywhere, leaves the left one as it is.
_NEUTRAL = {"addi": 0, "subi": 0, "ori": 0, "xori": 0, "shli": 0, "shri": 0, "muli": 1, "divi": 1}
_COMMUTATIVE = ("addi", "muli", "ori", "xori")


def fold_constants(module: ir.Module) -> None:
    """Folds in program order, so that what follows sees constants; undefined results and floats stay as they are."""
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("cuda_tile.") and len(operation.results) == 1:
            found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in found:
        with ir.InsertionPoint(op.operation), op.location:
            replacement = _replacement(op)
        if replacement is not None:
            op.operation.results[0].replace_all_uses_with(replacement)
            op.operation.erase()


def _replacement(op: Any) -> ir.Value | None:
    name = op.operation.name.removeprefix("cuda_tile.")
    if name in BINARY:
        return _neutral(op, name) or _folded(op, lambda bits, a, b: BINARY[name](op, a, b, bits))
    if name in UNARY:
        return _folded(op, lambda bits, a: UNARY[name](op, a, bits))
    if name in _MOVES:
        return _moved(op)
    return _selected(op) if name == "select" else None


def _neutral(op: Any, name: str) -> ir.Value | None:
    neutral = _NEUTRAL.get(name)
    if neutral is None:
        return None
    if _splat(op.rhs) == neutral:
        return op.lhs
    return op.rhs if name in _COMMUTATIVE and _splat(op.lhs) == neutral else None


def _folded(op: Any, compute: Any) -> ir.Value | None:
    operands = list(op.operation.operands)
    columns = [_numbers(operand) for operand in operands]
    if any(column is None for column in columns):
        return None
    bits = ELEMENT_BITS[spell(operands[0].type.element)]
    length = max(len(column) for column in columns if column is not None)
    rows = zip(*(column if len(column) == length else column * length for column in columns if column), strict=True)
    results = [compute(bits, *row) for row in rows]
    return None if None in results else _constant(op.operation.results[0].type, results)


def _moved(op: Any) -> ir.Value | None:
    """A splat of any number type is the same everywhere, whatever becomes of its shape."""
    source = op.operation.operands[0].owner
    if isinstance(source, ir.Block) or source.operation.name != "cuda_tile.constant" or not source.value.is_splat:
        return None
    tile = op.operation.results[0].type
    tensor = ir.RankedTensorType.get(tile.shape, tile.element)
    value = ir.DenseElementsAttr.get_splat(tensor, source.value.get_splat_value())
    return build("constant", [], [tile], {"value": value}).result


def _selected(op: Any) -> ir.Value | None:
    if op.val_if_true == op.val_if_false:
        return op.val_if_true
    condition = _splat(op.cond)
    return None if condition is None else op.val_if_true if condition else op.val_if_false


def _splat(value: ir.Value) -> int | None:
    numbers = _numbers(value)
    return numbers[0] if numbers is not None and len(numbers) == 1 else None


def _numbers(value: ir.Value) -> list[int] | None:
    """The elements of an integer constant, one where all are equal; None for what is no such constant."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "cuda_tile.constant":
        return None
    elements = owner.value
    tensor = ir.RankedTensorType(elements.type)
    if not isinstance(tensor.element_type, ir.IntegerType):
        return None
    bits = tensor.element_type.width
    if elements.is_splat:
        number = int(elements.get_splat_value().value)
        return [signed(number, bits) if bits > 1 else number]
    if prod(value.type.shape) > MAXIMUM_ELEMENTS:
        return None
    return [int(number) for number in elements]


def _constant(tile: TileType, numbers: Sequence[int]) -> ir.Value:
    width = tile.element.width
    element = ir.IntegerType.get_signless(width)
    attributes = [ir.IntegerAttr.get(element, signed(number, width)) for number in numbers]
    tensor = ir.RankedTensorType.get(tile.shape, element)
    splat = len(set(numbers)) == 1
    value = (
        ir.DenseElementsAttr.get_splat(tensor, attributes[0]) if splat else ir.DenseElementsAttr.get(attributes, tensor)
    )
    return build("constant", [], [tile], {"value": value}).result
