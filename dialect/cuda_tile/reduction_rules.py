"""Rules shared by reduce and scan."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell, spell_list

# Operations without memory effects that are not marked pure, because some operands make them undefined.
_EFFECT_FREE = frozenset(
    f"cuda_tile.{name}"
    for name in (
        "divi",
        "remi",
        "if",
        "reduce",
        "yield",
        "get_tensor_shape",
        "get_index_space_shape",
        "make_tensor_view",
    )
)
_LEAVES_PURE_WORLD = frozenset(f"cuda_tile.{name}" for name in ("for", "loop", "assume", "scan", "assert", "alloca"))


def reduced_type(tile: TileType, dim: int) -> TileType:
    """The tile type without dimension dim."""
    return TileType.get(tile.shape[:dim] + tile.shape[dim + 1 :], tile.element)


def shape_problem(op: ir.OpView, result_type: Callable[[TileType, int], TileType]) -> str | None:
    """The problem with operands, identities and results of a reduction or scan, or None."""
    operands, results = [v.type for v in op.operands], [v.type for v in op.results]
    identities = list(op.identities)
    if not operands:
        return "expects at least one operand"
    if not len(operands) == len(results) == len(identities):
        return (
            f"expects as many results and identities as operands, but got {len(operands)} operands, "
            f"{len(results)} results and {len(identities)} identities"
        )
    if any(tile.shape != operands[0].shape for tile in operands):
        return f"expects operands of one shape, but got {spell_list(operands)}"
    if not 0 <= op.dim < operands[0].rank:
        return f"expects dim to be in [0, {operands[0].rank}), but got {op.dim}"
    for index, (tile, result, identity) in enumerate(zip(operands, results, identities, strict=True)):
        if result != result_type(tile, op.dim):
            return f"expects result #{index} to be {quote(result_type(tile, op.dim))}, but got {quote(result)}"
        problem = _identity_problem(index, tile.element, identity)
        if problem is not None:
            return problem
    return None


def _identity_problem(index: int, element: ir.Type, identity: ir.Attribute) -> str | None:
    if not isinstance(identity, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
        return f"expects identity #{index} to be an integer or a float, but got {identity}"
    if identity.type != element and {spell(identity.type), spell(element)} != {"f16", "bf16"}:
        return f"expects identity #{index} to be of type {spell(element)}, but got {spell(identity.type)}"
    return None


def body_problem(op: ir.OpView) -> str | None:
    """The problem with the body of a reduction or scan, or None."""
    block = op.body.blocks[0]
    elements = [value.type.element for value in op.operands]
    expected = [TileType.get((), element) for element in elements for _ in range(2)]
    arguments = [argument.type for argument in block.arguments]
    if arguments != expected:
        return f"expects region arguments {spell_list(expected)}, but got {spell_list(arguments)}"
    *inner, last = list(block.operations)
    for each in inner:
        if each.operation.name in _LEAVES_PURE_WORLD or not effect_free(each):
            return f"only memory-effect-free operations are allowed inside, but found '{each.operation.name}'"
    yielded = [value.type for value in last.operation.operands]
    if yielded != expected[::2]:
        return f"expects the region to yield {spell_list(expected[::2])}, but got {spell_list(yielded)}"
    return None


def effect_free(op: ir.OpView) -> bool:
    """Whether an operation and all nested ones have no memory effect; those of other dialects count as having one."""
    from_traits = any(trait.__name__ in ("Pure", "NoMemoryEffect") for trait in getattr(op, "_traits", ()))
    if not from_traits and op.operation.name not in _EFFECT_FREE:
        return False
    return all(effect_free(each) for region in op.regions for block in region.blocks for each in block.operations)
