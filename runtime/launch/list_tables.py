"""The tables of list arguments, and of their tensor maps, in device memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from tilec.errors import LaunchError
from tilec.runtime.arguments.binding import Binding
from tilec.runtime.arrays import address_of
from tilec.runtime.devices.devices import call, driver


@contextmanager
def memory_of_stream(stream: int) -> Iterator[Callable[[np.ndarray], int]]:
    """A function that copies an array to the device, and returns its address until the stream has passed the body."""
    allocations: list[int] = []

    def place(content: np.ndarray) -> int:
        allocations.append(int(call(driver().cuMemAllocAsync, max(content.nbytes, 1), stream)))
        call(driver().cuMemcpyHtoDAsync, allocations[-1], address_of(content), content.nbytes, stream)
        return allocations[-1]

    try:
        yield place
    finally:
        for allocation in allocations:
            driver().cuMemFreeAsync(allocation, stream)


def rows_on_device(binding: Binding, addresses: dict[int, int], stream: int) -> dict[int, np.ndarray]:
    """The tables of lists by index of entry argument.

    `addresses` are the device addresses of host arrays by host address, which replace those in the tables.
    Raises LaunchError while the stream is captured, because a graph would read the tables of its capture.
    """
    if binding.tables and _is_captured(stream):
        raise LaunchError("a list of arrays cannot be passed to a launch that a CUDA graph captures: pass a tuple")
    return {index: _table(binding, index, addresses) for index in binding.tables}


def _table(binding: Binding, index: int, addresses: dict[int, int]) -> np.ndarray:
    """The table with device addresses only."""
    table = np.array(binding.rows[index])
    for row, array in enumerate(binding.tables[index]):
        if not array.on_device:
            table[row, 0] = addresses[array.address]
    return table


def _is_captured(stream: int) -> bool:
    return bool(call(driver().cuStreamIsCapturing, stream))
