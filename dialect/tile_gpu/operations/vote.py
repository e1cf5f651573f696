"""Votes of the threads of a warp."""

from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.interface import Category, Interface, Scratch
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Boolean, RegisterTile

# Operations of one warp, without an exchange with other warps.
_OF_A_WARP = ("arith.", "math.", "tile_gpu.math", "tile_gpu.load_tensor_memory", "tile_gpu.store_tensor_memory")


def _elements_are_f32(op: ir.OpView) -> str | None:
    element = op.source.type.element_type
    return None if str(element) == "f32" else f"expected a tile of f32, but got elements of {element}"


def _guards_operations_of_a_warp(op: ir.OpView) -> str | None:
    """Warps may have different values."""
    for use in op.result.uses:
        user = use.owner.operation
        if user.name != "scf.if" or list(user.results):
            return f"expected only branches without results as uses, but got {user.name}"
        for block in (block for region in user.regions for block in region.blocks):
            for inner in block.operations:
                name = inner.operation.name
                if name != "scf.yield" and not name.startswith(_OF_A_WARP):
                    return f"expected only operations of one warp in the branch, but got {name}"
    return None


class DiffersFromOneOp(Operation, name="differs_from_one", traits=[ext.Pure]):
    """Whether an element that a thread of the warp holds is not 1 (or NaN): the same value in a warp, not in a role."""

    interface = Interface(Category.ARITHMETIC, scratch=Scratch.NONE, is_pure=True)
    source: Operand[RegisterTile]
    result: Result[Boolean]
    assembly = "$source attr-dict : type($source)"
    rules = [_elements_are_f32, _guards_operations_of_a_warp]
