"""The names of the operations of tile_gpu of each category, as their interfaces have it, for `op.name in ..`."""

from __future__ import annotations

from tilec.dialect.operation import OPERATIONS

# All operations are declared.
from tilec.dialect.tile_gpu.dialect import TileGpu  # noqa: F401
from tilec.dialect.tile_gpu.interface import Category, Executor, Memory, interface_of
from tilec.dialect.tile_gpu.namespace import PREFIX

_ALL = tuple(name for name in OPERATIONS if name.startswith(PREFIX))


def _where(category: Category, memory: Memory | None = None, executor: Executor | None = None) -> tuple[str, ...]:
    """The names of the operations of a category, and with a memory and an executor if they are given."""
    records = {name: interface_of(name) for name in _ALL}
    return tuple(
        name
        for name, record in records.items()
        if record.category is category and memory in (None, record.memory) and executor in (None, record.executor)
    )


DECLARATIONS = _where(Category.DECLARATION)
# The steps of the parties of a channel, and also those that pass over slots.
STEPS_AND_SKIPS = _where(Category.STEP)
STEPS = tuple(name for name in STEPS_AND_SKIPS if interface_of(name).executor in (Executor.PRODUCER, Executor.CONSUMER))
# Between registers and global memory.
GLOBAL_LOADS = _where(Category.LOAD, Memory.GLOBAL)
GLOBAL_STORES = _where(Category.STORE, Memory.GLOBAL)
TMA_LOADS = _where(Category.COPY, executor=Executor.LOAD)
COPIES_OF_THREADS = _where(Category.COPY, executor=Executor.COPY)
MULTIPLIES = _where(Category.MULTIPLY)
TENSOR_MEMORY_MULTIPLIES = _where(Category.MULTIPLY, Memory.TENSOR)
# Multiplies whose accumulator is a register tile.
REGISTER_MULTIPLIES = tuple(name for name in MULTIPLIES if name not in TENSOR_MEMORY_MULTIPLIES)
PLACED_MULTIPLIES = _where(Category.PLACED_MULTIPLY)
# All operations on tiles that have no slot yet, multiplies included.
PLACED = (*_where(Category.PLACED), *PLACED_MULTIPLIES)
# The operations that the role of the multiplies issues to the tensor core.
TENSOR_CORE_OPERATIONS = tuple(name for name in _ALL if interface_of(name).executor is Executor.MULTIPLY)
# Operations that call functions of the device.
CALLS = tuple(name for name in _ALL if interface_of(name).calls)
