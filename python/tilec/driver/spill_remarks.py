"""Remarks that name the tiles in registers at the operation where a kernel that spills needs the most of them."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.kernel import KernelOp, RolesOp
from tilec.dialect.tile_gpu.registers import registers_per_thread, whole_warpgroups
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.errors import SourceLocation
from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.lowering.live_registers import RegisterPeak
from tilec.remarks import Remark

# Tiles with fewer registers are not the cause of spills.
_LEAST_REGISTERS = 16


def spill_remarks(module: ir.Module) -> Iterator[Remark]:
    """The remarks for each kernel of a tile_gpu module that spills; the lines with most registers first."""
    with module.context:
        for kernel in module.body.operations:
            if isinstance(kernel, KernelOp):
                yield from _kernel_remarks(kernel)


def _kernel_remarks(kernel: KernelOp) -> Iterator[Remark]:
    # Addresses beside the values are most of what a role needs that only issues operations: they are not the cause.
    role, peak, limit = max(_peaks(kernel), key=lambda found: found[1].registers / found[2])
    if peak.operation is None:
        return
    message = (
        f"role '{role}' needs the most registers here: {peak.needed} per thread, of which {peak.registers} hold "
        f"values, and it has {limit}: use smaller tiles, or more warps"
    )
    yield Remark("registers", message, source_location(peak.operation.location))
    for location, tiles in _tiles_by_line(peak):
        count = sum(registers for _, registers in tiles)
        names = " and ".join(dict.fromkeys(_name(value) for value, _ in tiles))
        message = f"{count} registers per thread hold {names} at the operation that needs the most registers"
        yield Remark("registers", message, location)


def _peaks(kernel: KernelOp) -> Iterator[tuple[str, RegisterPeak, int]]:
    """The name of each role, its peak, and the registers of its threads."""
    block = kernel.body.blocks[0]
    roles = next((op for op in block.operations if isinstance(op, RolesOp)), None)
    if roles is None:
        yield "compute", tile_peak(block), registers_per_thread(kernel.warps)
        return
    limits = roles.registers or [registers_per_thread(whole_warpgroups(sum(roles.warps)))] * len(roles.warps)
    for (name, body), limit in zip(roles.bodies.items(), limits, strict=True):
        yield name, tile_peak(body.blocks[0]), limit


def _tiles_by_line(peak: RegisterPeak) -> list[tuple[SourceLocation | None, list[tuple[ir.Value, int]]]]:
    """The tiles that are live at a peak, by the line that computes them, those with the most registers first."""
    lines: dict[SourceLocation | None, list[tuple[ir.Value, int]]] = {}
    tiles = [(each, count) for each, count in peak.values if is_register_tile(each.type) and count >= _LEAST_REGISTERS]
    # The values of a peak are in no order.
    for value, registers in sorted(tiles, key=lambda tile: (-tile[1], str(_location(tile[0])), _name(tile[0]))):
        lines.setdefault(_location(value), []).append((value, registers))
    return sorted(lines.items(), key=lambda line: -sum(registers for _, registers in line[1]))


def _location(value: ir.Value) -> SourceLocation | None:
    """The line that computes a value; of one that a loop carries, the line of the loop."""
    owner = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner
    return source_location(owner.operation.location)


def _name(value: ir.Value) -> str:
    shape = "x".join(map(str, value.type.shape))
    carried = ", carried by the loop," if isinstance(value.owner, ir.Block) else ""
    return f"a tile of {shape} {value.type.element_type}{carried}"
