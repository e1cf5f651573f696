"""Reading and writing single elements at once. All give what memory held before; indices are those of ct.gather."""

from __future__ import annotations

from tilec.language.modes import MemoryOrder, MemoryScope
from tilec.language.stub import kernel_function

_ORDER = MemoryOrder.ACQ_REL
_SCOPE = MemoryScope.DEVICE


@kernel_function
def atomic_cas(array, indices, expected, desired, /, *, check_bounds=True, memory_order=_ORDER, memory_scope=_SCOPE):
    """Write `desired` where the element equals `expected`, bit by bit; outside the array `expected` is the result."""


@kernel_function
def atomic_xchg(array, indices, update, /, *, check_bounds=True, memory_order=_ORDER, memory_scope=_SCOPE):
    """Write `update`."""


@kernel_function
def atomic_add(array, indices, update, /, *, check_bounds=True, memory_order=_ORDER, memory_scope=_SCOPE):
    """Add `update`."""


@kernel_function
def atomic_max(array, indices, update, /, *, check_bounds=True, memory_order=_ORDER, memory_scope=_SCOPE):
    """Write the larger of the element and `update` (integers)."""


@kernel_function
def atomic_min(array, indices, update, /, *, check_bounds=True, memory_order=_ORDER, memory_scope=_SCOPE):
    """Write the smaller of the element and `update` (integers)."""


@kernel_function
def atomic_and(array, indices, update, /, *, check_bounds=True, memory_order=_ORDER, memory_scope=_SCOPE):
    """Keep the bits that are set in `update` too (integers)."""


@kernel_function
def atomic_or(array, indices, update, /, *, check_bounds=True, memory_order=_ORDER, memory_scope=_SCOPE):
    """Set the bits of `update` (integers)."""


@kernel_function
def atomic_xor(array, indices, update, /, *, check_bounds=True, memory_order=_ORDER, memory_scope=_SCOPE):
    """Flip the bits of `update` (integers)."""
