"""What passes know of an operation: one record on each class of `tile_gpu`, and one for each upstream dialect.

`interface_of(op.name)` is the only look-up; an operation without a record is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from tilec.dialect.operation import OPERATIONS
from tilec.dialect.tile_gpu.namespace import PREFIX
from tilec.errors import UnsupportedError


class Category(Enum):
    """The kind of an operation."""

    # Kernels, roles, globals, control flow and terminators.
    STRUCTURE = auto()
    # Memory, channels and tensor maps, before their users.
    DECLARATION = auto()
    # Numbers that every thread of a CTA has, and the buffers of slots.
    SCALAR = auto()
    # Steps on channels.
    STEP = auto()
    # Tiles and accumulators that have no slot yet.
    PLACED = auto()
    LOAD = auto()
    STORE = auto()
    # Between two memories, without registers.
    COPY = auto()
    # To a cache.
    PREFETCH = auto()
    MULTIPLY = auto()
    # A multiply of placed tiles.
    PLACED_MULTIPLY = auto()
    ATOMIC = auto()
    # Accesses of the memory of several devices.
    MULTICAST = auto()
    # Waits, fences, barriers and signals.
    SYNCHRONIZATION = auto()
    # Results computed from values.
    ARITHMETIC = auto()
    # Results whose elements are those of operands.
    MOVE = auto()
    # Prints and assertions.
    DEBUG = auto()
    # Operations of other dialects, which may have effects.
    FOREIGN = auto()


class Memory(Enum):
    """The memory that an operation accesses; of a copy the one that it fills, of a multiply that of the accumulator."""

    GLOBAL = auto()
    SHARED = auto()
    TENSOR = auto()


class Executor(Enum):
    """Who executes an operation (README.md, Roles)."""

    # The threads that compute.
    COMPUTE = auto()
    # The role that loads by TMA.
    LOAD = auto()
    # The role that copies.
    COPY = auto()
    # The role that issues to the tensor core.
    MULTIPLY = auto()
    # The producer or the consumer of the channel.
    PRODUCER = auto()
    CONSUMER = auto()
    # Every role, once.
    EVERY = auto()
    # Any role that needs the result, if it is a scalar.
    ANY = auto()
    # No role: structure and declarations.
    NONE = auto()


class Scratch(Enum):
    """The scratch memory by which the threads of an operation exchange elements."""

    NONE = auto()
    # Some if elements move between warps (lowering/gpu/ir/scratch_use.py).
    OF_MOVED = auto()
    # The reserve.
    RESERVE = auto()


@dataclass(frozen=True)
class Interface:
    """What passes know of an operation.

    Attributes:
        category: what it is.
        memory: the memory that it accesses; of a copy the one that it fills, of a multiply that of the accumulator.
        executor: who executes it.
        scratch: the scratch memory that it needs.
        is_pure: whether it only computes its results, and reads no memory.
        is_elementwise: whether each element of a result is computed from those at its position.
        keeps_elements: whether it needs no exchange between threads if its tiles have one element.
        calls: whether it calls a function of the device, whose registers no budget limits.
    """

    category: Category
    memory: Memory | None = None
    executor: Executor = Executor.COMPUTE
    scratch: Scratch = Scratch.RESERVE
    is_pure: bool = False
    is_elementwise: bool = False
    keeps_elements: bool = False
    calls: bool = False


# Of upstream dialects.
_ARITHMETIC = Interface(
    Category.ARITHMETIC,
    executor=Executor.ANY,
    scratch=Scratch.NONE,
    is_pure=True,
    is_elementwise=True,
    keeps_elements=True,
)
_CONTROL_FLOW = Interface(Category.STRUCTURE, executor=Executor.NONE, scratch=Scratch.NONE)
_UPSTREAM = {
    "arith": _ARITHMETIC,
    "math": _ARITHMETIC,
    "scf": _CONTROL_FLOW,
    # The threads that compute have every loop with a condition.
    "scf.condition": Interface(Category.STRUCTURE, scratch=Scratch.NONE),
}


# Of dialects that tilec does not know: passes leave their operations where they are.
_FOREIGN = Interface(Category.FOREIGN, scratch=Scratch.NONE)
# The other dialects of tilec, whose operations are not in a kernel of tile_gpu.
_OURS = ("cuda_tile.", "tilex.", "ptx.")


@cache
@cache
def interface_of(name: str) -> Interface:
    """The record of an operation by its full name; raises UnsupportedError for one of tilec without a record."""
    found = getattr(OPERATIONS.get(name), "interface", None) if name.startswith(PREFIX) else None
    if found is None and not name.startswith((PREFIX, *_OURS)):
        found = _UPSTREAM.get(name) or _UPSTREAM.get(name.partition(".")[0], _FOREIGN)
    if found is None:
        raise UnsupportedError(f"'{name}' has no interface: declare one on its class in dialect/tile_gpu/")
    return found
