"""The cycles of a kernel for a tile block by the cost model, for the choice between kernels with the same tiles."""

from __future__ import annotations

from dataclasses import replace

from tilec.compile_options import CompileOptions
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.cost.loop_cycles import cycles_of_loops
from tilec.lowering.gpu.cost.loop_work import loops_of
from tilec.lowering.gpu.memory.occupancy import blocks_in_memory
from tilec.lowering.gpu.memory.shared_plan import shared_plan
from tilec.lowering.gpu.passes import run
from tilec.lowering.kernel_hints import blocks_of_hint
from tilec.lowering.model.constants import Device, device_of
from tilec.lowering.model.timeline import Busy
from tilec.lowering.target import Target
from tilec.remarks import Remark


def cycles_with_passes(module: ir.Module, target: Target, options: CompileOptions, remarks: list[Remark]) -> float:
    """The cycles of the only kernel of a module for a tile block, the sum over the CTAs that compute it.

    The passes change the module, and `remarks` gets theirs. Raises UnsupportedError.
    """
    run(module, target=target.name, options=options, remarks=remarks)
    (kernel,) = operations_named(module, (KernelOp.OPERATION_NAME,))
    device = device_of(target.name)
    # A kernel that waits less for its loads is preferred to one that a prefetch makes as fast.
    device = replace(device, tma_l2_latency_cycles=device.tma_dram_latency_cycles)
    blocks = blocks_per_processor(kernel, target, device)
    outside, *_ = loops_of(kernel, device)
    busy = (sum(each.cycles for each in role if isinstance(each, Busy)) for role in outside.roles.values())
    # Other blocks of an SM execute their loops meanwhile.
    start = device.block_start_cycles + device.load_dram_latency_cycles + max(busy, default=0.0)
    return kernel.ctas * (start / blocks + cycles_of_loops(outside, device, blocks))


def blocks_per_processor(kernel: KernelOp, target: Target, device: Device) -> int:
    """Blocks of an SM by memory, warps and budgets of registers; other registers are not known before ptxas."""
    if kernel.roles is not None and kernel.roles.registers is not None:
        return blocks_of_hint(kernel)
    plan = shared_plan(kernel, target)
    by_memory = blocks_in_memory(target, plan.declared_bytes, plan.tensor_columns)
    return max(1, int(min(device.warps // kernel.warps, device.resident_blocks, by_memory)))
