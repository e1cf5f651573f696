"""The work of a launch from its Tile IR: operations times the iterations of their loops, for known entry arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import PointerType, TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.driver.entries import entries
from tilec.lowering.model.launch import Ring, Work
from tilec.lowering.tile.analysis.constants import splat
from tilec.runtime.grid import Dimensions

# CUDA programming guide, "SIMT Architecture".
_LANES = 32
_ADDRESS_BITS = 64
_BITS_PER_BYTE = 8

_LOADS = ("load_view_tko", "load_ptr_tko")
_STORES = ("store_view_tko", "store_ptr_tko")
_MULTIPLIES = ("mmaf", "tilex.mmaf", "mmai", "mmaf_scaled", "tilex.mmaf_scaled", "tilex.mma_sparse")
_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda left, right: left + right,
    "subi": lambda left, right: left - right,
    "muli": lambda left, right: left * right,
    "maxi": max,
    "mini": min,
    "remi": lambda left, right: left % right,
}
_UNCHANGED = ("assume", "exti", "trunci")


class _UnknownWork(Exception):
    """The number of iterations of a loop depends on data."""


def work_of(module: ir.Module, grid: Dimensions, values: Sequence[int], stages: int | None = None) -> Work | None:
    """The work of the only entry of a module; None if a number of iterations depends on data or on the block.

    Args:
        module: Tile IR.
        grid: the number of blocks.
        values: the entry arguments; those that are not integers may have any value.
        stages: the slots of rings of operands; None if the compiler chooses them.
    """
    (entry,) = entries(module).values()
    block = entry.regions[0].blocks[0]
    counter = _Counter(dict(zip(map(_identity, block.arguments), values, strict=True)), grid, stages)
    try:
        counter.visit(block, 1.0)
    except _UnknownWork:
        return None
    return counter.work(grid)


def _identity(value: ir.Value) -> int:
    return hash(value)


class _Counter:
    """Adds up the work of one block."""

    def __init__(self, known: dict[int, int], grid: Dimensions, stages: int | None) -> None:
        self.known = known
        self.grid = grid
        self.stages = stages
        # Bytes that the loop with most loads of operands loads in all iterations, and in one.
        self.ring_bytes = self.step_bytes = 0.0
        self.instructions = self.multiply_adds = self.global_bytes = 0.0

    def work(self, grid: Dimensions) -> Work:
        """The work of all blocks."""
        blocks = prod(grid)
        moved = blocks * self.global_bytes
        return Work(
            blocks=blocks,
            instructions=blocks * self.instructions,
            multiply_adds=blocks * self.multiply_adds,
            # TMA and the register path both write each loaded tile to shared memory or registers once.
            shared_bytes=moved,
            global_bytes=moved,
            ring=Ring(slots=self.stages, bytes=self.step_bytes, copies=1) if self.stages and self.step_bytes else None,
            ring_steps=self.ring_bytes / self.step_bytes if self.step_bytes else 0.0,
        )

    def visit(self, block: ir.Block, times: float) -> None:
        """Adds the operations of a block, each counted `times` times."""
        for view in block.operations:
            operation = view.operation
            name = operation.name.removeprefix("cuda_tile.")
            if name in ("for", "loop", "if"):
                self._visit_regions(operation, name, times)
                continue
            self._evaluate(operation, name)
            self._count(operation, name, times)

    def _visit_regions(self, operation: ir.Operation, name: str, times: float) -> None:
        if name == "loop":
            raise _UnknownWork
        # Each branch is taken half of the time.
        factor = self._iterations(operation) if name == "for" else 1 / 2
        for region in operation.regions:
            for block in region.blocks:
                self._visit_loop(block, times * factor) if name == "for" else self.visit(block, times * factor)

    def _visit_loop(self, block: ir.Block, times: float) -> None:
        """Adds the operations of a loop. In a loop with a multiply, a ring holds the loaded bytes of an iteration."""
        before = self.multiply_adds, self.global_bytes
        self.visit(block, times)
        loaded = self.global_bytes - before[1]
        if self.multiply_adds > before[0] and times and loaded > self.ring_bytes:
            self.ring_bytes, self.step_bytes = loaded, loaded / times

    def _iterations(self, loop: ir.Operation) -> int:
        lower, upper, step = (self._value(operand) for operand in list(loop.operands)[:3])
        if lower is None or upper is None or step is None or step <= 0:
            raise _UnknownWork
        return max(0, -((lower - upper) // step))

    def _value(self, value: ir.Value) -> int | None:
        constant = splat(value)
        return self.known.get(_identity(value)) if constant is None else constant

    def _evaluate(self, operation: ir.Operation, name: str) -> None:
        """Records the results that are integers known from the entry arguments and the grid."""
        if name == "get_num_tile_blocks":
            self.known.update(zip(map(_identity, operation.results), self.grid, strict=True))
        operands = [self._value(operand) for operand in operation.operands]
        known = [operand for operand in operands if operand is not None]
        if not known or len(known) < len(operands) or len(operation.results) != 1:
            return
        value = _result(operation, name, known)
        if value is not None:
            self.known[_identity(operation.results[0])] = value

    def _count(self, operation: ir.Operation, name: str, times: float) -> None:
        results = [result.type for result in operation.results if isinstance(result.type, TileType)]
        if name in _LOADS:
            self.global_bytes += times * _bytes(results[0])
        elif name in _STORES:
            stored = [operand.type for operand in operation.operands if isinstance(operand.type, TileType)]
            self.global_bytes += times * max(map(_bytes, stored))
        elif name in _MULTIPLIES:
            self.multiply_adds += times * prod(results[0].shape) * operation.operands[0].type.shape[-1]
        else:
            self.instructions += times * sum(prod(result.shape) for result in results) / _LANES


def _result(operation: ir.Operation, name: str, operands: Sequence[int]) -> int | None:
    if name in _UNCHANGED:
        return operands[0]
    if name == "divi" and operands[1]:
        up = "positive_inf" in str(operation.attributes["rounding"])
        return -(-operands[0] // operands[1]) if up else operands[0] // operands[1]
    if name == "remi" and not operands[1]:
        return None
    return _INTEGERS[name](*operands) if name in _INTEGERS else None


def _bytes(tile: Any) -> float:
    element = tile.element
    bits = _ADDRESS_BITS if isinstance(element, PointerType) else ELEMENT_BITS[spell(element)]
    return prod(tile.shape) * bits / _BITS_PER_BYTE
