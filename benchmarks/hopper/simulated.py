"""A machine for probes that needs no GPU: tilec's simulator, which reports deadlocks, races and wrong descriptors."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from driver import MAP_BYTES
from machine import Launch, Machine
from probes import PROBES
from probes.memory_latency import BOX_BYTES, BOX_COLUMNS, BOX_ROWS

from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.ptxsim import _native
from tilec.runtime.tensor_maps.tensor_map import encode_for_simulator

_ALIGNMENT = 128


def _aligned(size_bytes: int) -> np.ndarray:
    storage = np.zeros(size_bytes + _ALIGNMENT, np.uint8)
    start = -storage.ctypes.data % _ALIGNMENT
    return storage[start : start + size_bytes]


class Simulated(Machine):
    """Two SMs; its clocks count instructions, and launches have few rounds."""

    name = "simulator"
    processors = 2
    data_bytes = 1 << 24

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.content, self.out, self.large_out = _aligned(self.data_bytes), _aligned(1 << 20), _aligned(self.data_bytes)
        self.data = self.content.ctypes.data
        self.programs: dict[str, _native.Program] = {}
        row_bytes = BOX_BYTES // BOX_ROWS
        tensor_map = TensorMap(
            element="f16",
            extents=(BOX_COLUMNS, self.data_bytes // row_bytes),
            strides=(row_bytes,),
            box=(BOX_COLUMNS, BOX_ROWS),
            element_strides=(1, 1),
            base=self.data,
            swizzle="128B",
        )
        self.map = encode_for_simulator(tensor_map)
        assert len(self.map) == MAP_BYTES

    def limited(self, launch: Launch) -> Launch:
        return replace(launch, rounds=min(launch.rounds, 2), inner=1 if launch.inner <= 4 else 2)

    def start(self, probe: str, launch: Launch, large_out: bool = False) -> None:
        found = PROBES[probe]
        launch = self.limited(launch)
        if probe not in self.programs:
            self.programs[probe] = _native.Program(found.text)
        out = self.large_out if large_out else self.out
        numbers = struct.pack("<QQIII", out.ctypes.data, self.data, launch.rounds, launch.inner, launch.size)
        arrays = self.content, self.out, self.large_out
        self.programs[probe].run(
            probe,
            grid=(launch.grid, 1, 1),
            block=(launch.threads or found.threads, 1, 1),
            cluster=(max(1, found.cluster), 1, 1),
            shared_bytes=launch.shared_bytes or found.shared_bytes,
            parameters=numbers.ljust(64, b"\0") + self.map,
            ranges=[(array.ctypes.data, array.nbytes, True) for array in arrays],
            seed=self.seed,
            # These have several copies in flight to one place, whose content nothing reads.
            checks=not probe.startswith("issues_"),
        )

    def read(self, count: int) -> np.ndarray:
        return self.out.view(np.uint64)[:count].copy()

    def flush(self) -> None:
        """Nothing: the simulator has no caches."""

    def write(self, words: np.ndarray) -> None:
        self.content.view(np.uint64)[: len(words)] = words

    def milliseconds(
        self, probe: str, launches: Sequence[Launch], repeats: int, graph: bool = False, large_out: bool = False
    ) -> list[float]:
        for launch in launches[:2]:
            self.start(probe, launch, large_out)
        return [1.0]
