"""Votes of the threads of a warp (PTX ISA 9.7.13.11)."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.vote import DiffersFromOneOp
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.registry import lowers


@lowers(DiffersFromOneOp)
def _differs_from_one(lowering: Lowering, operation: ir.Operation) -> None:
    first, *others = dict.fromkeys(lowering.get(operation.operands[0]))
    # A comparison with NaN is true.
    differs = lowering.compute("setp.neu.f32 $0, $1, 1.0;", "i1", first)
    for register in others:
        differs = lowering.compute("setp.neu.or.f32 $0, $1, 1.0, $2;", "i1", register, differs)
    text = "vote.sync.any.pred $0, $1, 0xffffffff;"
    lowering.set(operation.results[0], [lowering.b.execute(text, lowering.type("i1"), differs)])
