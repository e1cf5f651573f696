"""Interpretation of an entry of a `cuda_tile` module in host memory, one tile block at a time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tilec.dialect.cuda_tile.operations.entry import EntryOp
from tilec.dialect.mlir import ir
from tilec.errors import InputError
from tilec.process.recursion_limit import deep_recursion
from tilec.runtime.grid import Dimensions, grid_of
from tilec.runtime.interpret.global_values import GlobalValues
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.memory.global_memory import Memory, Range
from tilec.runtime.interpret.memory.ordering import Ordering
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.numbers.integer import wrap
from tilec.runtime.interpret.numbers.rounding import NEAREST_EVEN, round_to
from tilec.runtime.interpret.prepare import Preparation, plain_type

Value = int | float


@deep_recursion()
def run(
    module: ir.Module,
    entry: str,
    grid: Sequence[int] | int,
    values: Sequence[Value],
    *,
    ranges: Iterable[Range] | None = None,
    check: bool = False,
    truncate_tf32: bool = False,
    progress: Callable[[int, int], object] | None = None,
    write: Callable[[str], object] | None = None,
) -> None:
    """Runs `entry` once per tile block of `grid`, on host memory at its real addresses.

    Args:
        module: a module of `cuda_tile`.
        entry: the name of the entry.
        grid: one to three extents.
        values: one number per parameter; an address for a pointer.
        ranges: (address, bytes, writable), one of which must contain each access; None is all memory of the process.
        check: reports undefined behaviour (a violated assumption of `assume` or `overflow`, division by zero, a
            conversion out of range, unordered accesses of the same memory) and fills undefined elements with NaN or
            alternating bits instead of zero.
        truncate_tf32: converts f32 to tf32 by dropping bits, as tensor cores treat unconverted f32.
        progress: called with the number of completed tile blocks and their total.
        write: receives printed text instead of standard output.

    Raises:
        InputError: the entry, the grid or the values do not fit.
        UnsupportedError: the interpreter does not support an operation.
        SimulationError: an error of the kernel, with its source location.
    """
    function = _entry(module, entry)
    extents = grid_of(grid)
    preparation = Preparation()
    with module.context:
        body = preparation.block(function.body.blocks[0])
        arguments = entry_values(function.body.blocks[0], entry, values)
    ordering = Ordering() if check else None
    memory = Memory(ranges, ordering)
    total = extents[0] * extents[1] * extents[2]
    print_text = write or sys.stdout.write
    with np.errstate(all="ignore"), GlobalValues(module, memory) as addresses:
        for done, index in enumerate(blocks(extents), 1):
            slots: list[object] = [None] * preparation.slot_count
            machine = Machine(memory, index, extents, slots, addresses, print_text, check, truncate_tf32)
            machine.run(body, arguments)
            if ordering is not None:
                ordering.start_block()
            if progress is not None:
                progress(done, total)


def blocks(grid: Dimensions) -> Iterable[Dimensions]:
    """The indices of the tile blocks of a grid, in the order in which they run."""
    return ((x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0]))


def _entry(module: ir.Module, name: str) -> EntryOp:
    entries = {op.sym_name: op for op in module.body.operations if isinstance(op, EntryOp)}
    if name not in entries:
        raise InputError(f"the module has no entry '{name}'; its entries are: {', '.join(entries) or 'none'}")
    return entries[name]


def entry_values(block: ir.Block, entry: str, values: Sequence[Value]) -> list[np.ndarray]:
    """The 0-D tiles of the parameters in the block of an entry; raises InputError for values that do not fit them."""
    types = [plain_type(argument.type) for argument in block.arguments]
    if len(values) != len(types):
        raise InputError(f"entry '{entry}' has {len(types)} parameters, got {len(values)} values")
    pairs = zip(types, values, strict=True)
    return [_argument(index, kind.element, value) for index, (kind, value) in enumerate(pairs)]


def _argument(index: int, element: TileElement, value: Value) -> np.ndarray:
    if element.is_float:
        return np.asarray(_float(element, value))
    if isinstance(value, float | np.floating):
        raise InputError(f"parameter {index} needs an integer for {element}, got {value!r}")
    low, high = (0, 2**64 - 1) if element.pointee else (-(2 ** (element.width - 1)), 2**element.width - 1)
    if not low <= int(value) <= high:
        raise InputError(f"parameter {index} needs a value of {element}, got {value}")
    if element.pointee is not None:
        return np.asarray(int(value) * element.target.steps_per_byte, np.uint64)
    return np.asarray(wrap(np.asarray(int(value) % 2**64, np.uint64), element))


def _float(element: TileElement, value: Value) -> np.ndarray:
    form = element.format
    with np.errstate(all="ignore"):
        return form.encode(round_to(np.asarray(value, np.float64), form, NEAREST_EVEN))
