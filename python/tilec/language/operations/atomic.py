"""Atomic read-modify-write functions on individual elements; each returns the elements before the write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.kernel_function import kernel_function
from tilec.language.modes import MemoryOrder, MemoryScope

if TYPE_CHECKING:
    from tilec.language.operations.operands import Index, Operand
    from tilec.language.operations.view import Array, Tile

_ORDER = MemoryOrder.ACQ_REL
_SCOPE = MemoryScope.DEVICE


@kernel_function
def atomic_cas(
    array: Array,
    indices: Index,
    expected: Operand,
    desired: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Writes `desired` to each element whose bits equal those of `expected`.

    Args:
        array: the array, of 32-bit or 64-bit integers or floats.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        expected: the values to compare with, broadcast to the common shape of the indices.
        desired: the values to write.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; `expected` for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_cas(x, ct.arange(4, dtype=ct.int32), 0, 9))
        >>> x = np.array([0, 1, 0, 1], np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [0, 1, 0, 1]
        >>> x
        array([9, 1, 9, 1], dtype=int32)
    """


@kernel_function
def atomic_xchg(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Writes `update` to each element.

    Args:
        array: the array, of 32-bit or 64-bit integers or floats.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the values to write, broadcast to the common shape of the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_xchg(x, ct.arange(2, dtype=ct.int32), 7))
        >>> x = np.array([0, 0], np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [0, 0]
        >>> x
        array([7, 7], dtype=int32)
    """


@kernel_function
def atomic_add(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Adds `update` to each element.

    Args:
        array: the array, of 32-bit or 64-bit integers or floats, float16 or bfloat16.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the values to add, broadcast to the common shape of the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_add(x, ct.arange(2, dtype=ct.int32), 7))
        >>> x = np.array([5, 5], np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [5, 5]
        >>> x
        array([12, 12], dtype=int32)
    """


@kernel_function
def atomic_max(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Writes the larger of each element and `update`.

    Args:
        array: the array, of 32-bit or 64-bit integers.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the values to compare with, broadcast to the common shape of the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_max(x, ct.arange(2, dtype=ct.int32), 7))
        >>> x = np.array([5, 9], np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [5, 9]
        >>> x
        array([7, 9], dtype=int32)
    """


@kernel_function
def atomic_min(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Writes the smaller of each element and `update`.

    Args:
        array: the array, of 32-bit or 64-bit integers.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the values to compare with, broadcast to the common shape of the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_min(x, ct.arange(2, dtype=ct.int32), 7))
        >>> x = np.array([5, 9], np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [5, 9]
        >>> x
        array([5, 7], dtype=int32)
    """


@kernel_function
def atomic_and(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Clears the bits of each element that are not set in `update`.

    Args:
        array: the array, of 32-bit or 64-bit integers.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the bits to keep, of the element type of the array or a Python number; broadcast to the shape of
            the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_and(x, ct.arange(2, dtype=ct.int32), 6))
        >>> x = np.array([5, 3], np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [5, 3]
        >>> x
        array([4, 2], dtype=int32)
    """


@kernel_function
def atomic_or(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Sets the bits of `update` in each element.

    Args:
        array: the array, of 32-bit or 64-bit integers.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the bits to set, of the element type of the array or a Python number; broadcast to the shape of
            the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_or(x, ct.arange(2, dtype=ct.int32), 6))
        >>> x = np.array([5, 2], np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [5, 2]
        >>> x
        array([7, 6], dtype=int32)
    """


@kernel_function
def atomic_xor(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Inverts the bits of `update` in each element.

    Args:
        array: the array, of 32-bit or 64-bit integers.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the bits to invert, of the element type of the array or a Python number; broadcast to the shape of
            the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_xor(x, ct.arange(2, dtype=ct.int32), 6))
        >>> x = np.array([5, 2], np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [5, 2]
        >>> x
        array([3, 4], dtype=int32)
    """


@kernel_function
def atomic_inc(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Adds 1 to each element below the bound `update`, and sets the others to 0, like CUDA's atomicInc.

    Args:
        array: the array, of uint32.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the bound, of uint32 or a Python number; broadcast to the shape of the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_inc(x, ct.arange(2, dtype=ct.int32), 3))
        >>> x = np.array([2, 3], np.uint32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [2, 3]
        >>> x
        array([3, 0], dtype=uint32)
    """


@kernel_function
def atomic_dec(
    array: Array,
    indices: Index,
    update: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: MemoryOrder = _ORDER,
    memory_scope: MemoryScope = _SCOPE,
) -> Tile:
    """Subtracts 1 from each element from 1 to the bound `update`, and sets the others to it, like CUDA's atomicDec.

    Args:
        array: the array, of uint32.
        indices: one integer tile or scalar per dimension, in elements; their shapes broadcast.
        update: the bound, of uint32 or a Python number; broadcast to the shape of the indices.
        check_bounds: False asserts that all indices are inside the array; otherwise the behavior is undefined.
        memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
        memory_scope: the scope of the order.

    Returns:
        The elements before the write; an unspecified value for indices outside the array, where nothing is written.

    Raises:
        TileTypeError: an operand does not match the array, or the order is WEAK.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_dec(x, ct.arange(2, dtype=ct.int32), 3))
        >>> x = np.array([2, 0], np.uint32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        [2, 0]
        >>> x
        array([1, 3], dtype=uint32)
    """
