"""The base class of the operations of Tile IR; `tilec.dialect.operation` tells how one is declared."""

from typing import TYPE_CHECKING

from tilec.dialect.cuda_tile.namespace import CudaTile
from tilec.dialect.cuda_tile.scope_rules import operation_scope_problem
from tilec.dialect.mlir import ir
from tilec.dialect.operation import operation_base

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation
else:
    Operation = operation_base(CudaTile, discardable=True)
    Operation.check_location = operation_scope_problem


class NoMemoryEffect:
    """No memory effect, but undefined for some operands: removed if unused and merged, but never speculated."""

    class Effects(ir.MemoryEffectsOpInterface):
        @staticmethod
        def get_effects(op: ir.Operation, effects: list[ir.MemoryEffect]) -> None:
            pass

    @staticmethod
    def attach(name: str) -> None:
        NoMemoryEffect.Effects.attach(name)
