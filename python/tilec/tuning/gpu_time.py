"""Times of kernels on a GPU, by CUDA events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from cuda.bindings import driver

from tilec.errors import TileLaunchTimeoutError
from tilec.runtime.arguments.structured_values import arrays_in
from tilec.runtime.arrays import view
from tilec.runtime.devices.devices import call, device_for, ordinal_of, primary_context
from tilec.runtime.devices.streams import stream_handle
from tilec.runtime.launch.launch import launch
from tilec.tuning.candidate import Candidate

# Writing this multiple of the L2 evicts what it holds.
_L2_MULTIPLE = 2
# The time between queries of an event, in seconds.
_QUERY_INTERVAL_S = 1e-4
# Writes of the buffer before a run: the host prepares the launch while they execute, so that the time between the
# events is that of the kernel. Preparing takes less than 0.2 ms, one write of 2 * 50 MB about 30 us on H200.
_WRITES = 8


class GpuTimer:
    """Runs candidates in a stream of one GPU; `name` states the device and the conditions.

    Args:
        candidate: any candidate, whose target and arrays select the GPU.
        stream: the stream, see ct.launch.
        flush_l2: whether the L2 is written before each run.
        timeout_s: the limit of a run in seconds, None for no limit.
    """

    def __init__(self, candidate: Candidate, stream: Any, flush_l2: bool, timeout_s: float | None) -> None:
        arrays = [view(array, "") for array in arrays_in(candidate.arguments())]
        ordinal = next((ordinal_of(array.address) for array in arrays if array.on_device and array.address), None)
        self.device = device_for(candidate.request.target, ordinal)
        self.stream = 0 if stream is None else stream_handle(stream)
        self.flush_l2 = flush_l2
        self.timeout_s = timeout_s
        self.name = f"{self.device.name}, driver {call(driver.cuDriverGetVersion)}, flush_l2={flush_l2}"
        with primary_context(self.device.ordinal):
            size = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
            l2_bytes = call(driver.cuDeviceGetAttribute, size, call(driver.cuDeviceGet, self.device.ordinal))
            self.size_bytes = _L2_MULTIPLE * max(l2_bytes, 1 << 20)
            self.buffer = call(driver.cuMemAlloc, self.size_bytes)

    def close(self) -> None:
        """Frees the buffer."""
        with primary_context(self.device.ordinal):
            call(driver.cuMemFree, self.buffer)

    def time_us(self, candidate: Candidate) -> float:
        """The time of one run in microseconds; raises TileLaunchTimeoutError if it does not end in time."""
        assert candidate.artifact is not None
        with (
            primary_context(self.device.ordinal),
            _device_arguments(candidate.arguments()) as given,
            _events() as events,
        ):
            run = partial(launch, candidate.artifact, candidate.grid, given, self.stream)
            for _ in range(_WRITES):
                call(driver.cuMemsetD8Async, self.buffer, 0, self.size_bytes, self.stream)
            if not self.flush_l2:
                # This run leaves the data of the kernel in the L2.
                run()
            call(driver.cuEventRecord, events[0], self.stream)
            run()
            call(driver.cuEventRecord, events[1], self.stream)
            self._wait(events[1])
            return 1e3 * call(driver.cuEventElapsedTime, *events)

    def _wait(self, event: driver.CUevent) -> None:
        if self.timeout_s is None:
            call(driver.cuEventSynchronize, event)
            return
        end = time.monotonic() + self.timeout_s
        while driver.cuEventQuery(event)[0] == driver.CUresult.CUDA_ERROR_NOT_READY:
            if time.monotonic() > end:
                raise TileLaunchTimeoutError(f"the kernel did not end in {self.timeout_s:g} s: the GPU still runs it")
            time.sleep(_QUERY_INTERVAL_S)
        call(driver.cuEventQuery, event)


@contextmanager
def _events() -> Iterator[tuple[driver.CUevent, driver.CUevent]]:
    events = call(driver.cuEventCreate, 0), call(driver.cuEventCreate, 0)
    try:
        yield events
    finally:
        for event in events:
            driver.cuEventDestroy(event)


class _DeviceArray:
    """A copy of a numpy array in device memory, with its strides."""

    def __init__(self, array: np.ndarray) -> None:
        start, size = view(array, "").byte_range()
        self.size = max(size, 1)
        self.address = int(call(driver.cuMemAlloc, self.size))
        if size:
            call(driver.cuMemcpyHtoD, self.address, start, size)
        self.dtype = array.dtype
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (self.address, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
        }


@contextmanager
def _device_arguments(given: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The arguments with numpy arrays copied to the device, so that the copies are not timed."""
    copies = [_DeviceArray(value) if isinstance(value, np.ndarray) else None for value in given]
    try:
        yield tuple(value if copy is None else copy for value, copy in zip(given, copies, strict=True))
    finally:
        for copy in copies:
            if copy is not None:
                call(driver.cuMemFree, copy.address)
