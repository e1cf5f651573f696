"""Loops whose threads load few bytes per iteration are unrolled, so that the loads of several iterations are in flight.

The copies of the body follow each other in the order of the iterations; only loads that may run early, with the
operations that compute their addresses, move to the front. The iterations that are left run in a loop of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import STEPS
from tilec.dialect.tile_gpu.ids import copy_id
from tilec.dialect.tile_gpu.kernel import KernelOp
from tilec.dialect.walk import operations_inside
from tilec.lowering import emitter
from tilec.lowering.gpu.ir.early_loads import addresses_of, early_loads
from tilec.lowering.gpu.ir.tile_size import tile_bytes
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.target import LANES

# Four loads of 16 bytes per thread: 8 KB per block of 128 threads, and 64 KB per SM with 8 blocks, at which HBM
# reaches its bandwidth (model/constants.py, BANDWIDTH_BY_KILOBYTES_IN_FLIGHT).
BYTES_PER_THREAD = 64
MAXIMUM_FACTOR = 4
# Longer bodies have other work to do while a load is in flight.
MAXIMUM_OPERATIONS = 64


def unroll_loads(kernel: KernelOp, _context: Context) -> None:
    """Unrolls the innermost loops of a tile_gpu.kernel that wait for loads, in place."""
    for loop in [op for op in operations_inside(kernel) if op.name == "scf.for"]:
        factor = _factor(loop, kernel.warps)
        if factor > 1:
            _unroll(loop, factor)


def _factor(loop: ir.Operation, warps: int) -> int:
    """The iterations to put side by side; 1 for a loop that stays as it is."""
    body = loop.regions[0].blocks[0]
    operations = [op.operation for op in body.operations]
    is_simple = all(not len(op.regions) and op.name not in STEPS for op in operations)
    early = early_loads(operations, body) if is_simple and len(operations) <= MAXIMUM_OPERATIONS else []
    if not early:
        return 1
    bytes_per_thread = sum(tile_bytes(op.results[0].type) for op in early) / (warps * LANES)
    factor = MAXIMUM_FACTOR
    while factor > 1 and factor * bytes_per_thread > BYTES_PER_THREAD:
        factor //= 2
    return factor


def _unroll(loop: ir.Operation, factor: int) -> None:
    """Counts iterations from zero, since a bound beyond the last multiple of the factor might not fit the type."""
    lower, upper, step = list(loop.operands)[:3]
    type, unsigned = lower.type, "unsignedCmp" in loop.attributes
    with loop.location, ir.InsertionPoint(loop):
        zero, one, several = (emitter.constant(type, number) for number in (0, 1, factor))
        runs = emitter.less_than(lower, upper, unsigned)
        distance = emitter.binary("arith.subi", upper, lower)
        every = emitter.binary("arith.ceildivui", distance, step)
        count = emitter.create("arith.select", [type], [runs, every, zero]).result
        rounds = emitter.binary("arith.divui", count, several)
        done = emitter.binary("arith.muli", rounds, several)
        first = _loop(loop, (zero, rounds, one), list(loop.operands)[3:], factor)
        rest = _loop(loop, (done, count, one), list(first.results), 1)
    for result, replacement in zip(loop.results, rest.results, strict=True):
        result.replace_all_uses_with(replacement)
    loop.erase()


def _loop(loop: ir.Operation, bounds: Sequence[ir.Value], initial: list[ir.Value], factor: int) -> ir.Operation:
    """A loop over unsigned numbers of rounds of so many iterations each, in place of `loop`."""
    lower, step, body = loop.operands[0], loop.operands[2], loop.regions[0].blocks[0]
    attributes = {"unsignedCmp": ir.UnitAttr.get()}
    types = [value.type for value in initial]
    made = ir.Operation.create("scf.for", types, [*bounds, *initial], attributes, regions=1)
    copy_id(loop, made)
    block = made.regions[0].blocks.append(lower.type, *types, arg_locs=[loop.location] * (1 + len(types)))
    with ir.InsertionPoint(block):
        start = emitter.binary("arith.muli", block.arguments[0], emitter.constant(lower.type, factor))
        numbers = [emitter.binary("arith.addi", start, emitter.constant(lower.type, k)) for k in range(factor)]
        distances = [emitter.binary("arith.muli", number, step) for number in numbers]
        counters = [emitter.binary("arith.addi", lower, distance) for distance in distances]
        carried = _iterations(body, counters, list(block.arguments)[1:])
        ir.Operation.create("scf.yield", operands=carried)
    return made


def _iterations(body: ir.Block, counters: Sequence[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
    """Copies the body for each counter, all early loads first; returns the values that the last copy carries on."""
    *operations, end = [op.operation for op in body.operations]
    early = early_loads(operations, body)
    first = {op for load in early for op in (load, *(addresses_of(load, body) or []))}
    maps = [{body.arguments[0]: counter} for counter in counters]
    for values in maps:
        _copy([op for op in operations if op in first], values)
    for values in maps:
        values.update(zip(list(body.arguments)[1:], carried, strict=True))
        _copy([op for op in operations if op not in first], values)
        carried = [values.get(value, value) for value in end.operands]
    return carried


def _copy(operations: Sequence[ir.Operation], values: dict[ir.Value, ir.Value]) -> None:
    for op in operations:
        copy = op.clone(ip=ir.InsertionPoint.current)
        for index, operand in enumerate(op.operands):
            copy.operands[index] = values.get(operand, operand)
        values.update(zip(op.results, copy.results, strict=True))
