"""The tables of list arguments in device memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tilec.errors import LaunchError
from tilec.runtime.arrays import address_of
from tilec.runtime.binding import Binding
from tilec.runtime.devices import call, driver


@contextmanager
def tables_on_device(binding: Binding, addresses: dict[int, int], stream: int) -> Iterator[dict[int, int]]:
    """The device addresses of the tables of lists by index of entry argument, until the stream has passed the body.

    `addresses` are the device addresses of host arrays by host address, which replace those in the tables.
    Raises LaunchError while the stream is captured, because a graph would read the tables of its capture.
    """
    if binding.tables and _is_captured(stream):
        raise LaunchError("a list of arrays cannot be passed to a launch that a CUDA graph captures: pass a tuple")
    allocations: dict[int, int] = {}
    try:
        for index in binding.tables:
            table = _table(binding, index, addresses)
            allocations[index] = int(call(driver().cuMemAllocAsync, max(table.nbytes, 1), stream))
            call(driver().cuMemcpyHtoDAsync, allocations[index], address_of(table), table.nbytes, stream)
        yield allocations
    finally:
        for allocation in allocations.values():
            driver().cuMemFreeAsync(allocation, stream)


def _table(binding: Binding, index: int, addresses: dict[int, int]) -> np.ndarray:
    """The table with device addresses only."""
    table = np.array(binding.arrays[index].owner)
    for row, array in enumerate(binding.tables[index]):
        if not array.on_device:
            table[row, 0] = addresses[array.address]
    return table


def _is_captured(stream: int) -> bool:
    return bool(call(driver().cuStreamIsCapturing, stream))
