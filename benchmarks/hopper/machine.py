"""A GPU that runs probes, by the CUDA driver: launches, their clocks, and their times by events."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from driver import MAP_BYTES, checked, encoded_map
from probes import PROBES
from probes.memory_latency import BOX_BYTES, BOX_COLUMNS, BOX_ROWS
from probes.text import Probe

# The first rounds of a launch fill the instruction cache and the TLBs.
FIRST_ROUNDS = 2
RECORDS_BYTES = 1 << 24
# More than the L2 cache holds, several times over.
FLUSH_BYTES = 1 << 28
# cuda.h of CUDA 13.
_FLOAT16, _SWIZZLE_128B, _PROMOTE_256B = 6, 3, 3
_MAP_ROWS = 1 << 19
# Cycles of the kernel that keeps the GPU busy while launches are queued, in units of 100.
_QUEUEING_HUNDREDS = 100_000


@dataclass(frozen=True)
class Launch:
    """The arguments and the shape of a launch; zeros stand for the values of the probe."""

    rounds: int = 1
    inner: int = 1
    size: int = 0
    grid: int = 1
    threads: int = 0
    shared_bytes: int = 0


class Machine(ABC):
    """What measurements need; `data` is the address of an array of data_bytes."""

    name: str
    processors: int
    data: int
    data_bytes: int

    @abstractmethod
    def start(self, probe: str, launch: Launch) -> None:
        """Launches a probe, whose parameter out is an array of records."""

    @abstractmethod
    def read(self, count: int) -> np.ndarray:
        """The first words (u64) of the records, after all work."""

    @abstractmethod
    def flush(self) -> None:
        """Overwrites the content of L2."""

    @abstractmethod
    def write(self, words: np.ndarray) -> None:
        """Writes words (u64) at the start of data."""

    @abstractmethod
    def milliseconds(
        self, probe: str, launches: Sequence[Launch], repeats: int, graph: bool = False, large_out: bool = False
    ) -> list[float]:
        """The time of launches back to back, by events; `large_out`: out is an array of data_bytes."""

    def limited(self, launch: Launch) -> Launch:
        """The launch that is done instead."""
        return launch

    def records(self, name: str, launch: Launch) -> np.ndarray:
        """The clocks of a launch, as u64[block][round][warp][start, end]."""
        launch = self.limited(launch)
        probe = PROBES[name]
        warps = probe.recorders or (launch.threads or probe.threads) // 32
        shape = launch.grid, launch.rounds, warps, 2
        self.start(name, launch)
        return self.read(int(np.prod(shape))).reshape(shape)

    def durations(self, name: str, launch: Launch) -> np.ndarray:
        """Cycles of each round of the first block, from the first warp's start to the last one's end."""
        found = self.records(name, launch)[0].astype(np.int64)
        found = found[min(FIRST_ROUNDS, len(found) - 1) :]
        return found[:, :, 1].max(axis=1) - found[:, :, 0].min(axis=1)


class _Arguments(ctypes.Structure):
    """The parameters of a probe, and the pointers to them that a launch needs."""

    _fields_ = [
        ("map", ctypes.c_ubyte * MAP_BYTES),
        ("out", ctypes.c_uint64),
        ("data", ctypes.c_uint64),
        ("rounds", ctypes.c_uint32),
        ("inner", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("pointers", ctypes.c_uint64 * 6),
    ]


class Gpu(Machine):
    """The first GPU of the CUDA driver, with the cubins of a folder."""

    data_bytes = 1 << 31

    def __init__(self, folder: Any) -> None:
        from cuda.bindings import driver

        self.driver, self.folder = driver, folder
        checked(driver.cuInit(0))
        device = checked(driver.cuDeviceGet(0))
        checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(device))))
        self.name = checked(driver.cuDeviceGetName(100, device)).partition(b"\0")[0].decode()
        attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        self.processors = int(checked(driver.cuDeviceGetAttribute(attribute, device)))
        self.stream = checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.events = [checked(driver.cuEventCreate(0)) for _ in range(2)]
        self.data, self.large_out = (int(checked(driver.cuMemAlloc(self.data_bytes))) for _ in range(2))
        self.out = int(checked(driver.cuMemAlloc(RECORDS_BYTES)))
        self.functions: dict[str, Any] = {}
        self._set(self.data, self.data_bytes)
        self._set(self.large_out, self.data_bytes)
        extents, box = (BOX_COLUMNS, _MAP_ROWS), (BOX_COLUMNS, BOX_ROWS)
        self.map = encoded_map(self.data, _FLOAT16, extents, BOX_BYTES // BOX_ROWS, box, _SWIZZLE_128B, _PROMOTE_256B)
        self.arguments: dict[tuple[str, Launch, bool], _Arguments] = {}

    def _set(self, address: int, size_bytes: int) -> None:
        checked(self.driver.cuMemsetD8Async(address, 0, size_bytes, self.stream))
        checked(self.driver.cuStreamSynchronize(self.stream))

    def _function(self, probe: Probe) -> Any:
        if probe.name not in self.functions:
            driver = self.driver
            module = checked(driver.cuModuleLoadData((self.folder / f"{probe.name}.cubin").read_bytes()))
            function = checked(driver.cuModuleGetFunction(module, probe.name.encode()))
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            checked(driver.cuFuncSetAttribute(function, attribute, 227 * 1024))
            self.functions[probe.name] = function
        return self.functions[probe.name]

    def _arguments(self, launch: Launch, large_out: bool) -> _Arguments:
        out = self.large_out if large_out else self.out
        arguments = _Arguments((ctypes.c_ubyte * MAP_BYTES)(*self.map), out, self.data)
        arguments.rounds, arguments.inner, arguments.size = launch.rounds, launch.inner, launch.size
        base = ctypes.addressof(arguments)
        names = ("out", "data", "rounds", "inner", "size", "map")
        arguments.pointers = (ctypes.c_uint64 * 6)(*(base + getattr(_Arguments, name).offset for name in names))
        return arguments

    def start(self, probe: str, launch: Launch, large_out: bool = False) -> None:
        found = PROBES[probe]
        key = probe, launch, large_out
        # Kept, so that launches in a row are queued faster than they run.
        if key not in self.arguments:
            self.arguments[key] = self._arguments(launch, large_out)
        base = ctypes.addressof(self.arguments[key])
        checked(
            self.driver.cuLaunchKernel(
                self._function(found),
                *(launch.grid, 1, 1),
                *(launch.threads or found.threads, 1, 1),
                launch.shared_bytes or found.shared_bytes,
                self.stream,
                base + _Arguments.pointers.offset,
                0,
            )
        )

    def read(self, count: int) -> np.ndarray:
        words = np.zeros(count, np.uint64)
        checked(self.driver.cuStreamSynchronize(self.stream))
        checked(self.driver.cuMemcpyDtoH(words.ctypes.data, self.out, words.nbytes))
        return words

    def flush(self) -> None:
        self._set(self.large_out, FLUSH_BYTES)

    def write(self, words: np.ndarray) -> None:
        checked(self.driver.cuMemcpyHtoD(self.data, words.ctypes.data, words.nbytes))
        checked(self.driver.cuCtxSynchronize())

    def milliseconds(
        self, probe: str, launches: Sequence[Launch], repeats: int, graph: bool = False, large_out: bool = False
    ) -> list[float]:
        def launch_all() -> None:
            for launch in launches:
                self.start(probe, launch, large_out)

        launch_all()
        checked(self.driver.cuStreamSynchronize(self.stream))
        if not graph:
            return [self._time(launch_all) for _ in range(repeats)]
        driver = self.driver
        checked(driver.cuStreamBeginCapture(self.stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
        launch_all()
        executable = checked(driver.cuGraphInstantiate(checked(driver.cuStreamEndCapture(self.stream)), 0))
        return [self._time(lambda: checked(driver.cuGraphLaunch(executable, self.stream))) for _ in range(repeats + 1)][
            1:
        ]

    def _time(self, queue: Callable[[], Any]) -> float:
        """Milliseconds of the queued work, all of which is queued before the first of it starts."""
        driver = self.driver
        last = RECORDS_BYTES // 16 - 1
        self.start("timer", Launch(inner=_QUEUEING_HUNDREDS, size=last))
        checked(driver.cuEventRecord(self.events[0], self.stream))
        queue()
        checked(driver.cuEventRecord(self.events[1], self.stream))
        checked(driver.cuStreamSynchronize(self.stream))
        return float(checked(driver.cuEventElapsedTime(*self.events)))


def launch_record(probe: Probe) -> dict[str, Any]:
    """The shape of a probe's launches, for the index of a folder."""
    return {key: value for key, value in asdict(probe).items() if key != "text"}
