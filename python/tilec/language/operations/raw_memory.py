"""Loads, stores and atomic updates of an array by element offset. The class is never instantiated on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.language.datatypes import DType
from tilec.language.kernel_function import in_kernels_only, kernel_function
from tilec.language.modes import MemoryOrder, MemoryScope

if TYPE_CHECKING:
    from tilec.language.operations.operands import Operand
    from tilec.language.operations.view import Tile

_ORDER = MemoryOrder.ACQ_REL
_SCOPE = MemoryScope.DEVICE


class RawArrayMemory:
    """The memory of an array, the result of `Array.get_raw_memory`.

    An offset counts elements from the first element of the array; neither extents nor strides apply. An access outside
    the memory of the array has undefined behavior.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     memory = x.get_raw_memory()
        ...     print(memory.dtype, memory.load_offset(ct.arange(2, dtype=ct.int32) + 3))
        >>> ct.launch(None, 1, example, (np.arange(6, dtype=np.int32).reshape(2, 3),), backend="interpret")
        int32 [3, 4]
    """

    @property
    def dtype(self) -> DType:
        """The element type of the array."""
        in_kernels_only("dtype")

    @kernel_function
    def load_offset(
        self,
        offset: Operand,
        /,
        *,
        mask: Operand | None = None,
        padding_value: Operand | None = 0,
        latency: int | None = None,
    ) -> Tile:
        """result[i] = memory[offset[i]].

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            mask: a bool tile, broadcast to the shape of `offset`, that is true for the elements to load; None means
                all.
            padding_value: the result for elements outside the mask; None leaves them undetermined.
            latency: hint, from 1 (low) to 10 (high): the expected latency of the load.

        Returns:
            A tile of the element type of the array and the shape of `offset`.

        Raises:
            TileTypeError: `offset` is not of integers, or an operand cannot be broadcast to its shape.
            TileValueError: `latency` is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x):
            ...     offset = ct.arange(4, dtype=ct.int32)
            ...     print(x.get_raw_memory().load_offset(offset, mask=offset < 3, padding_value=-1))
            >>> ct.launch(None, 1, example, (np.arange(3, dtype=np.int32),), backend="interpret")
            [0, 1, 2, -1]
        """

    @kernel_function
    def store_offset(
        self,
        offset: Operand,
        value: Operand,
        /,
        *,
        mask: Operand | None = None,
        latency: int | None = None,
    ) -> None:
        """memory[offset[i]] = value[i].

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            value: the elements, broadcast to the shape of `offset`.
            mask: a bool tile, broadcast to the shape of `offset`, that is true for the elements to store; None means
                all.
            latency: hint, from 1 (low) to 10 (high): the expected latency of the store.

        Raises:
            TileTypeError: `offset` is not of integers, or `value` does not match the array or the shape of `offset`.
            TileValueError: `latency` is out of range.

        Example:
            >>> @ct.kernel
            ... def example(x): x.get_raw_memory().store_offset(ct.arange(2, dtype=ct.int32) + 1, 7)
            >>> x = np.zeros(4, np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            >>> x
            array([0, 7, 7, 0], dtype=int32)
        """

    @kernel_function
    def atomic_cas_offset(
        self,
        offset: Operand,
        expected: Operand,
        desired: Operand,
        /,
        *,
        mask: Operand | None = None,
        memory_order: MemoryOrder = _ORDER,
        memory_scope: MemoryScope = _SCOPE,
    ) -> Tile:
        """Writes `desired` to each element whose bits equal those of `expected`.

        The array is of 32-bit or 64-bit integers or floats.

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            expected: the values to compare with, broadcast to the shape of `offset`.
            desired: the values to write.
            mask: a bool tile, broadcast to the shape of `offset`; nothing is written where it is false.
            memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
            memory_scope: the scope of the order.

        Returns:
            The elements before the write; `expected` where the mask is false.

        Raises:
            TileTypeError: an operand does not match the array or the shape of `offset`, or the order is WEAK.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().atomic_cas_offset(ct.arange(4, dtype=ct.int32), 0, 9))
            >>> x = np.array([0, 1, 0, 1], np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            [0, 1, 0, 1]
            >>> x
            array([9, 1, 9, 1], dtype=int32)
        """

    @kernel_function
    def atomic_xchg_offset(
        self,
        offset: Operand,
        update: Operand,
        /,
        *,
        mask: Operand | None = None,
        memory_order: MemoryOrder = _ORDER,
        memory_scope: MemoryScope = _SCOPE,
    ) -> Tile:
        """Writes `update` to each element.

        The array is of 32-bit or 64-bit integers or floats.

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            update: the values to write, broadcast to the shape of `offset`.
            mask: a bool tile, broadcast to the shape of `offset`; nothing is written where it is false.
            memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
            memory_scope: the scope of the order.

        Returns:
            The elements before the write; an unspecified value where the mask is false.

        Raises:
            TileTypeError: an operand does not match the array or the shape of `offset`, or the order is WEAK.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().atomic_xchg_offset(ct.arange(2, dtype=ct.int32), 6))
            >>> x = np.array([5, 9], np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            [5, 9]
            >>> x
            array([6, 6], dtype=int32)
        """

    @kernel_function
    def atomic_add_offset(
        self,
        offset: Operand,
        update: Operand,
        /,
        *,
        mask: Operand | None = None,
        memory_order: MemoryOrder = _ORDER,
        memory_scope: MemoryScope = _SCOPE,
    ) -> Tile:
        """Adds `update` to each element.

        The array is of 32-bit or 64-bit integers or floats, float16 or bfloat16.

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            update: the values to add, broadcast to the shape of `offset`.
            mask: a bool tile, broadcast to the shape of `offset`; nothing is written where it is false.
            memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
            memory_scope: the scope of the order.

        Returns:
            The elements before the write; an unspecified value where the mask is false.

        Raises:
            TileTypeError: an operand does not match the array or the shape of `offset`, or the order is WEAK.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().atomic_add_offset(ct.arange(2, dtype=ct.int32), 6))
            >>> x = np.array([5, 9], np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            [5, 9]
            >>> x
            array([11, 15], dtype=int32)
        """

    @kernel_function
    def atomic_max_offset(
        self,
        offset: Operand,
        update: Operand,
        /,
        *,
        mask: Operand | None = None,
        memory_order: MemoryOrder = _ORDER,
        memory_scope: MemoryScope = _SCOPE,
    ) -> Tile:
        """Writes the larger of each element and `update`.

        The array is of 32-bit or 64-bit integers.

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            update: the values to compare with, broadcast to the shape of `offset`.
            mask: a bool tile, broadcast to the shape of `offset`; nothing is written where it is false.
            memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
            memory_scope: the scope of the order.

        Returns:
            The elements before the write; an unspecified value where the mask is false.

        Raises:
            TileTypeError: an operand does not match the array or the shape of `offset`, or the order is WEAK.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().atomic_max_offset(ct.arange(2, dtype=ct.int32), 6))
            >>> x = np.array([5, 9], np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            [5, 9]
            >>> x
            array([6, 9], dtype=int32)
        """

    @kernel_function
    def atomic_min_offset(
        self,
        offset: Operand,
        update: Operand,
        /,
        *,
        mask: Operand | None = None,
        memory_order: MemoryOrder = _ORDER,
        memory_scope: MemoryScope = _SCOPE,
    ) -> Tile:
        """Writes the smaller of each element and `update`.

        The array is of 32-bit or 64-bit integers.

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            update: the values to compare with, broadcast to the shape of `offset`.
            mask: a bool tile, broadcast to the shape of `offset`; nothing is written where it is false.
            memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
            memory_scope: the scope of the order.

        Returns:
            The elements before the write; an unspecified value where the mask is false.

        Raises:
            TileTypeError: an operand does not match the array or the shape of `offset`, or the order is WEAK.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().atomic_min_offset(ct.arange(2, dtype=ct.int32), 6))
            >>> x = np.array([5, 9], np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            [5, 9]
            >>> x
            array([5, 6], dtype=int32)
        """

    @kernel_function
    def atomic_and_offset(
        self,
        offset: Operand,
        update: Operand,
        /,
        *,
        mask: Operand | None = None,
        memory_order: MemoryOrder = _ORDER,
        memory_scope: MemoryScope = _SCOPE,
    ) -> Tile:
        """Clears the bits of each element that are not set in `update`.

        The array is of 32-bit or 64-bit integers.

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            update: the bits to keep, of the element type of the array or a Python number; broadcast to the shape of
                `offset`.
            mask: a bool tile, broadcast to the shape of `offset`; nothing is written where it is false.
            memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
            memory_scope: the scope of the order.

        Returns:
            The elements before the write; an unspecified value where the mask is false.

        Raises:
            TileTypeError: an operand does not match the array or the shape of `offset`, or the order is WEAK.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().atomic_and_offset(ct.arange(2, dtype=ct.int32), 6))
            >>> x = np.array([5, 9], np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            [5, 9]
            >>> x
            array([4, 0], dtype=int32)
        """

    @kernel_function
    def atomic_or_offset(
        self,
        offset: Operand,
        update: Operand,
        /,
        *,
        mask: Operand | None = None,
        memory_order: MemoryOrder = _ORDER,
        memory_scope: MemoryScope = _SCOPE,
    ) -> Tile:
        """Sets the bits of `update` in each element.

        The array is of 32-bit or 64-bit integers.

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            update: the bits to set, of the element type of the array or a Python number; broadcast to the shape of
                `offset`.
            mask: a bool tile, broadcast to the shape of `offset`; nothing is written where it is false.
            memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
            memory_scope: the scope of the order.

        Returns:
            The elements before the write; an unspecified value where the mask is false.

        Raises:
            TileTypeError: an operand does not match the array or the shape of `offset`, or the order is WEAK.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().atomic_or_offset(ct.arange(2, dtype=ct.int32), 6))
            >>> x = np.array([5, 9], np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            [5, 9]
            >>> x
            array([ 7, 15], dtype=int32)
        """

    @kernel_function
    def atomic_xor_offset(
        self,
        offset: Operand,
        update: Operand,
        /,
        *,
        mask: Operand | None = None,
        memory_order: MemoryOrder = _ORDER,
        memory_scope: MemoryScope = _SCOPE,
    ) -> Tile:
        """Inverts the bits of `update` in each element.

        The array is of 32-bit or 64-bit integers.

        Args:
            offset: the offsets in elements, an integer tile or scalar.
            update: the bits to invert, of the element type of the array or a Python number; broadcast to the shape of
                `offset`.
            mask: a bool tile, broadcast to the shape of `offset`; nothing is written where it is false.
            memory_order: RELAXED, ACQUIRE, RELEASE or ACQ_REL.
            memory_scope: the scope of the order.

        Returns:
            The elements before the write; an unspecified value where the mask is false.

        Raises:
            TileTypeError: an operand does not match the array or the shape of `offset`, or the order is WEAK.

        Example:
            >>> @ct.kernel
            ... def example(x): print(x.get_raw_memory().atomic_xor_offset(ct.arange(2, dtype=ct.int32), 6))
            >>> x = np.array([5, 9], np.int32)
            >>> ct.launch(None, 1, example, (x,), backend="interpret")
            [5, 9]
            >>> x
            array([ 3, 15], dtype=int32)
        """
