"""Variables of a module, from tile_gpu.global to ptx.variable, and the addresses of variables."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import variable
from tilec.dialect.tile_gpu.global_memory import GlobalAddressOp
from tilec.lowering.gpu_to_ptx.registers.constant_data import array_text
from tilec.lowering.gpu_to_ptx.registers.element_codes import memory_bytes
from tilec.lowering.gpu_to_ptx.registers.elements import element_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.registry import lowers
from tilec.lowering.gpu_to_ptx.registers.symbol_name import symbol_name


def declare_global(op: ir.OpView, module: ir.Module) -> None:
    """Declares a variable with its initial values; raises CompileError for a name that PTX cannot have."""
    name = symbol_name(op)
    content = memory_bytes(op.value, element_of(ir.RankedTensorType(op.value.type)))
    linkage = "" if op.private else ".visible "
    variable(module, name, array_text(name, content, op.alignment, linkage))


@lowers(GlobalAddressOp)
def global_address(lowering: Lowering, operation: ir.Operation) -> None:
    address = lowering.compute(f"mov.b64 $0, {operation.opview.symbol};", "i64")
    lowering.set(operation.results[0], [lowering.compute("cvta.global.u64 $0, $1;", "i64", address)])
