"""Kernels, roles and the position of a tile block in the grid."""

from tilec.dialect.attributes import Array, Int32, Integers32, OneType, Symbol, Text
from tilec.dialect.fields import OptionalRegion, Region, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.layouts import upstream_disagreement
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Integer32


class KernelOp(Operation, name="kernel", traits=[ir.IsIsolatedFromAboveTrait]):
    """A kernel of `warps` compute warps; its arguments are scalars in the order of the entry's parameters."""

    sym_name: Symbol
    target: Text
    function_type: OneType
    warps: Int32
    body: Region

    def check(self) -> str | None:
        if self.warps <= 0 or self.warps % 4:
            return f"warps must be a positive multiple of 4, but got {self.warps}"
        return upstream_disagreement(self)


class ReturnOp(Operation, name="return", traits=[ir.IsTerminatorTrait]):
    """The end of a kernel or of a role."""


class RolesOp(Operation, name="roles", traits=[ir.NoTerminatorTrait]):
    """Groups of whole warps that run side by side: `compute`, `load` and `mma`, `warps[i]` warps each."""

    names: Array
    warps: Integers32
    compute: Region
    load: Region
    mma: OptionalRegion


class ProgramIdOp(Operation, name="program_id", traits=[ext.Pure]):
    """The coordinate of this tile block in the grid along `axis` (0, 1, 2)."""

    result: Result[Integer32]
    axis: Int32


class NumProgramsOp(Operation, name="num_programs", traits=[ext.Pure]):
    """The extent of the grid along `axis` (0, 1, 2)."""

    result: Result[Integer32]
    axis: Int32
