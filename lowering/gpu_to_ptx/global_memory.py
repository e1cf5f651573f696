"""tile_gpu.global to ptx.variable, and the addresses of variables."""

from __future__ import annotations

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import variable
from tilec.errors import CompileError
from tilec.lowering.gpu_to_ptx.constant_data import RESERVED_PREFIX, array_text
from tilec.lowering.gpu_to_ptx.device_call import DEVICE_FUNCTIONS
from tilec.lowering.gpu_to_ptx.element_codes import memory_bytes
from tilec.lowering.gpu_to_ptx.elements import element_of
from tilec.lowering.gpu_to_ptx.lowering import SHARED_SYMBOL, Lowering
from tilec.lowering.gpu_to_ptx.registry import lowers

_RESERVED = (*DEVICE_FUNCTIONS, SHARED_SYMBOL)


def declare_global(op: ir.OpView, module: ir.Module) -> None:
    """Declares a variable with its initial values; raises CompileError for a name that the lowering uses itself."""
    name = op.sym_name
    if name in _RESERVED or name.startswith(RESERVED_PREFIX):
        used = f"{', '.join(_RESERVED)} and {RESERVED_PREFIX}*"
        message = f"expected another name of global '{name}': the compiler uses {used}"
        raise CompileError(message, source_location(op.operation.location))
    content = memory_bytes(op.value, element_of(ir.RankedTensorType(op.value.type)))
    linkage = "" if op.private else ".visible "
    variable(module, name, array_text(name, content, op.alignment, linkage))


@lowers("tile_gpu.global_address")
def global_address(lowering: Lowering, operation: ir.Operation) -> None:
    address = lowering.compute(f"mov.b64 $0, {operation.opview.symbol};", "i64")
    lowering.set(operation.results[0], [lowering.compute("cvta.global.u64 $0, $1;", "i64", address)])
