"""The globals of a module in memory."""

from __future__ import annotations

from types import TracebackType

import numpy as np

from tilec.dialect.mlir import ir
from tilec.runtime.interpret.constants import array_of_elements
from tilec.runtime.interpret.global_memory import Memory, Range
from tilec.runtime.interpret.prepare import element_of
from tilec.runtime.interpret.shape import bytes_of

# What NVIDIA's allocator of device memory aligns to, and more than any element needs.
_ALIGNMENT = 256


class GlobalValues:
    """While entered, the initialised globals of a module lie in memory; gives their addresses by name."""

    def __init__(self, module: ir.Module, memory: Memory) -> None:
        self._memory = memory
        self._globals = [op for op in module.body.operations if op.operation.name == "cuda_tile.global"]
        self._storage: list[np.ndarray] = []
        self._ranges: list[Range] = []

    def __enter__(self) -> dict[str, int]:
        return {op.sym_name: self._place(op) for op in self._globals}

    def _place(self, op: ir.OpView) -> int:
        element = element_of(ir.RankedTensorType(op.value.type).element_type)
        content = bytes_of(array_of_elements(op.value, element), element)
        alignment = max(op.alignment, _ALIGNMENT)
        storage = np.zeros(len(content) + alignment, np.uint8)
        start = -storage.ctypes.data % alignment
        storage[start : start + len(content)] = content
        self._storage.append(storage)
        self._ranges.append((storage.ctypes.data + start, len(content), not op.constant))
        self._memory.add(*self._ranges[-1])
        return self._ranges[-1][0]

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for reach in self._ranges:
            self._memory.remove(*reach)
