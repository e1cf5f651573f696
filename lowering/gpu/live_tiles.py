"""The registers that a thread needs for the code of a role: its tiles and scalars that are live at once."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.sets import is_register_tile, is_scalar
from tilec.lowering.gpu.operation_work import element_bits
from tilec.lowering.layout.layout_text import parse_layout
from tilec.lowering.live_registers import RegisterPeak, register_peak

REGISTER_BITS = 32
# Results that ptxas has in immediates, or computes again where they are used.
_WITHOUT_REGISTERS = ("arith.constant", "tile_gpu.splat")
# Results in the registers of the first operand.
_RENAMED = ("tile_gpu.broadcast", "tile_gpu.extract", "tile_gpu.reshape", "tile_gpu.transpose", "tile_gpu.wgmma_wait")
# Addresses, predicates and barriers beside the values: ptxas 13.5 uses 154 registers where 128 hold accumulators.
OTHER_REGISTERS = 26


def registers_needed(block: ir.Block) -> RegisterPeak:
    """The registers per thread for the code of a block of tile_gpu, and the operation where they are needed."""
    peak = register_peak(block, registers_of, _source)
    return RegisterPeak(peak.registers + OTHER_REGISTERS, peak.operation)


def registers_of(value: ir.Value) -> int:
    """The registers of one thread that hold a value. Predicates and values of other memories have none."""
    type = value.type
    if not isinstance(value.owner, ir.Block) and value.owner.name in _WITHOUT_REGISTERS:
        return 0
    if is_register_tile(type):
        layout = parse_layout(ir.StringAttr(type.encoding).value)
        repeated = bin(layout.free_register_mask).count("1")
        return (layout.register_count >> repeated) * _registers(type.element_type)
    return _registers(type) if is_scalar(type) else 0


def _registers(element: ir.Type) -> int:
    bits = element_bits(element)
    return 0 if str(element) == "i1" else max(1, bits // REGISTER_BITS)


def _source(value: ir.Value) -> ir.Value | None:
    owner = value.owner
    return owner.operands[0] if not isinstance(owner, ir.Block) and owner.name in _RENAMED else None
