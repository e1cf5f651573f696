"""Variables of a module, and memory of a tile block, in global memory."""

from tilec.dialect.attributes import Elements, Flag, Int64, Symbol
from tilec.dialect.fields import Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.sets import Integer64
from tilec.element_types import ELEMENT_TYPES


class GlobalOp(Operation, name="global"):
    """An initialized array in global memory, aligned to `alignment` bytes; a `private` one is invisible to the host."""

    interface = Interface(Category.STRUCTURE)
    sym_name: Symbol
    value: Elements
    alignment: Int64
    private: Flag
    assembly = "$sym_name alignment $alignment{ $private} attr-dict"

    def check(self) -> str | None:
        name = spell(ir.RankedTensorType(self.value.type).element_type)
        if name not in ELEMENT_TYPES:
            return f"elements must be of {', '.join(ELEMENT_TYPES)}, but got {name}"
        return _alignment_problem(self.alignment)


class GlobalAddressOp(Operation, name="global_address", traits=[ext.Pure]):
    """The address of the first element of a global of the module."""

    interface = Interface(Category.SCALAR, executor=Executor.ANY, is_pure=True)
    result: Result[Integer64]
    symbol: Symbol
    assembly = "$symbol attr-dict"

    def check(self) -> str | None:
        module = self.operation.parent
        while module is not None and module.operation.name != "builtin.module":
            module = module.operation.parent
        operations = () if module is None else module.operation.regions[0].blocks[0].operations
        if any(isinstance(each, GlobalOp) and each.sym_name == self.symbol for each in operations):
            return None
        return f"'{self.symbol}' does not name a global of the module"


class AllocateOp(Operation, name="allocate"):
    """The address of `bytes` of global memory that the tile block has until the kernel ends."""

    interface = Interface(Category.DECLARATION, executor=Executor.NONE, calls=True)
    result: Result[Integer64]
    bytes: Int64
    alignment: Int64
    assembly = "bytes $bytes alignment $alignment attr-dict"

    def check(self) -> str | None:
        if self.bytes < 0:
            return f"expected a number of bytes, but got {self.bytes}"
        return _alignment_problem(self.alignment)


def _alignment_problem(alignment: int) -> str | None:
    if alignment <= 0 or alignment & (alignment - 1):
        return f"expected a power of two as alignment, but got {alignment}"
    return None
