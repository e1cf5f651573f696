"""The names of the operations of tile_gpu of each category, as their interfaces have it, for `op.name in ..`."""

from __future__ import annotations

from tilec.dialect.operation import OPERATIONS

# All operations are declared.
from tilec.dialect.tile_gpu.dialect import TileGpu  # noqa: F401
from tilec.dialect.tile_gpu.interface import Category, Executor, Memory, interface_of, operations_where
from tilec.dialect.tile_gpu.namespace import PREFIX

_ALL = tuple(name for name in OPERATIONS if name.startswith(PREFIX))

DECLARATIONS = operations_where(Category.DECLARATION)
# The steps of the parties of a channel, and also those that pass over slots.
STEPS_AND_SKIPS = operations_where(Category.STEP)
STEPS = tuple(
    name for name in STEPS_AND_SKIPS if interface_of(name).executor in (Executor.PRODUCER, Executor.CONSUMER)
)
# Between registers and global memory.
GLOBAL_LOADS = operations_where(Category.LOAD, Memory.GLOBAL)
GLOBAL_STORES = operations_where(Category.STORE, Memory.GLOBAL)
TMA_LOADS = operations_where(Category.COPY, executor=Executor.LOAD)
COPIES_OF_THREADS = operations_where(Category.COPY, executor=Executor.COPY)
MULTIPLIES = operations_where(Category.MULTIPLY)
TENSOR_MEMORY_MULTIPLIES = operations_where(Category.MULTIPLY, Memory.TENSOR)
# Those whose accumulator is a register tile.
REGISTER_MULTIPLIES = tuple(name for name in MULTIPLIES if name not in TENSOR_MEMORY_MULTIPLIES)
PLACED_MULTIPLIES = operations_where(Category.PLACED_MULTIPLY)
# The operations that the role of the multiplies issues to the tensor core.
TENSOR_CORE_OPERATIONS = tuple(name for name in _ALL if interface_of(name).executor is Executor.MULTIPLY)
# Operations that call functions of the device.
CALLS = tuple(name for name in _ALL if interface_of(name).calls)
