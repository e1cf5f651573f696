"""Globals of a module in memory."""

from __future__ import annotations

from types import TracebackType

import numpy as np

from tilec.dialect.mlir import ir
from tilec.runtime.arrays import address_of
from tilec.runtime.interpret.memory.global_memory import Memory, Range
from tilec.runtime.interpret.numbers.constants import array_of_elements
from tilec.runtime.interpret.operations.shape import bytes_of
from tilec.runtime.interpret.prepare import element_of

# The alignment of cuMemAlloc, more than any element needs.
_ALIGNMENT = 256


class GlobalValues:
    """A context in which the globals of a module are in memory; entering it returns their addresses by name."""

    def __init__(self, module: ir.Module, memory: Memory) -> None:
        self._memory = memory
        self._globals = [op for op in module.body.operations if op.operation.name == "cuda_tile.global"]
        self._storage: list[np.ndarray] = []
        self._ranges: list[Range] = []

    def __enter__(self) -> dict[str, int]:
        return {op.sym_name: self._allocate(op) for op in self._globals}

    def _allocate(self, op: ir.OpView) -> int:
        element = element_of(ir.RankedTensorType(op.value.type).element_type)
        content = bytes_of(array_of_elements(op.value, element), element)
        alignment = max(op.alignment, _ALIGNMENT)
        storage = np.zeros(len(content) + alignment, np.uint8)
        start = -address_of(storage) % alignment
        storage[start : start + len(content)] = content
        self._storage.append(storage)
        self._ranges.append((address_of(storage) + start, len(content), not op.constant))
        self._memory.add(*self._ranges[-1])
        return self._ranges[-1][0]

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for allocated in self._ranges:
            self._memory.remove(*allocated)
