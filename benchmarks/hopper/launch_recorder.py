"""Records simulated launches of sm_90a kernels: those of any process, and of tests as a plugin of pytest.

    PYTHONPATH=benchmarks/hopper python -m pytest -p launch_recorder --record-launches FOLDER tests/kernels

Each launch becomes a file in FOLDER/raw, from any number of processes; record.py makes an archive of them.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import re
import sys
import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tilec.runtime.simulate as simulator
from tilec.errors import TilecError
from tilec.frozen import replace as replace_field
from tilec.runtime.arguments.arguments import (
    Argument,
    ConstantArgument,
    ListArgument,
    PointerArgument,
    RecordArgument,
    TupleArgument,
    leaves,
)
from tilec.runtime.arguments.binding import bind
from tilec.runtime.arguments.elements import POINTEES
from tilec.runtime.arguments.structured_values import fields_of
from tilec.runtime.arrays import ArrayView, is_array, view
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.metadata import Metadata, to_line
from tilec.runtime.devices.device_memory import HostRange, host_ranges
from tilec.runtime.grid import grid_of

TARGET = "sm_90a"
MOST_BYTES = 4 << 20
LAUNCHES_PER_PTX = 2
# The base addresses of memory are reproduced modulo this, the largest alignment of shared memory and of pages of TMA.
ADDRESS_MODULUS = 1024
SIMULATE = simulator.simulate

_FLOAT_ATOMIC = re.compile(r"\b(?:red|atom)\.[\w.:]*\.(?:f16|bf16|f32|f64|f16x2|bf16x2)\b")
_BULK_REDUCTION = re.compile(r"\bcp\.reduce\.async\.bulk")
_RETURNING_ATOMIC = re.compile(r"\batom\.")


@dataclass
class Recorder:
    """Writes the launches of this process to `folder`; `origin` names what launches next."""

    folder: Path
    origin: str = ""
    most_bytes: int = MOST_BYTES
    seen: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def install(self) -> None:
        """Replaces `simulate` in its module and in all modules that have imported it."""
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if value is SIMULATE and module.__name__ != __name__:
                    setattr(module, name, self.simulate)

    def simulate(
        self,
        artifact: Artifact,
        grid: Sequence[int] | int,
        given: Sequence[object],
        settings: simulator.Settings = simulator.DEFAULT_SETTINGS,
    ) -> dict[str, int]:
        """Simulates as `tilec.runtime.simulate.simulate`, and records a launch that succeeds."""
        launch = self._before(artifact, grid, given, settings)
        counters = SIMULATE(artifact, grid, given, settings)
        if launch is not None:
            self._write(launch)
        return counters

    def note(self, reference: str) -> None:
        """Records how the result of the last launch compares with its reference."""
        _write_file(self.folder, ".note", json.dumps([self.origin, reference]).encode())

    def _before(self, artifact: Artifact, grid: Any, given: Any, settings: simulator.Settings) -> dict[str, Any] | None:
        metadata = artifact.metadata
        if metadata.target != TARGET or not artifact.ptx:
            return None
        try:
            shape = grid_of(grid, metadata.cluster, metadata.grid_counts_clusters, metadata.cluster_if_divisible)
            arrays = list(bind(metadata.arguments, given).named_arrays().values())
        except TilecError:
            return None
        of_callers = _arrays_of_callers()
        named = [(leaf, _in_array(leaf, value, of_callers)) for leaf, value in _leaves(metadata.arguments, given)]
        arrays += [_whole(value) for _, value in named if isinstance(value, ArrayView)]
        ranges = host_ranges(arrays)
        too_large = sum(memory.size_bytes for memory in ranges) > self.most_bytes
        if 0 in shape or too_large or any(array.on_device for array in arrays):
            return None
        values = [_value(leaf, value, ranges) for leaf, value in named]
        key = json.dumps([metadata.entry, shape, _shapes(values)])
        known = self.seen[artifact.ptx]
        if key in known or len(known) == LAUNCHES_PER_PTX:
            return None
        known.add(key)
        before = [_content(memory) for memory in ranges]
        return {
            "origin": self.origin or os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)"),
            "key": key,
            "ptx": artifact.ptx,
            "metadata": to_line(_flattened(metadata)),
            "grid": _list(grid),
            "arguments": values,
            "ranges": ranges,
            "before": before,
            "marks": _marks(artifact, settings, ranges, before, values),
            # Keeps the memory of arrays that other libraries export.
            "arrays": arrays,
        }

    def _write(self, launch: dict[str, Any]) -> None:
        del launch["arrays"]
        ranges = launch["ranges"]
        launch["after"] = [_content(memory) for memory in ranges]
        launch["ranges"] = [[memory.address % ADDRESS_MODULUS, memory.size_bytes, memory.writable] for memory in ranges]
        _write_file(self.folder, ".launch", zlib.compress(pickle.dumps(launch), 1))


def _write_file(folder: Path, suffix: str, content: bytes) -> None:
    raw = folder / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    path = raw / f"{uuid.uuid4().hex}.partial"
    path.write_bytes(content)
    path.rename(path.with_suffix(suffix))


def _content(memory: HostRange) -> bytes:
    return ctypes.string_at(memory.address, memory.size_bytes) if memory.size_bytes else b""


def _list(grid: Any) -> Any:
    return int(grid) if isinstance(grid, int) else [int(extent) for extent in grid]


def _flattened(metadata: Metadata) -> Metadata:
    """The metadata with the items of tuples and records as arguments, and without constants."""
    found = tuple(leaf for leaf in leaves(metadata.arguments) if not isinstance(leaf, ConstantArgument))
    return replace_field(metadata, arguments=found)


def _leaves(arguments: Sequence[Argument], given: Sequence[Any]) -> Iterator[tuple[Argument, Any]]:
    """The arguments of _flattened with their values; `given` is with or without the constants."""
    if len(given) != len(arguments):
        arguments = [argument for argument in arguments if not isinstance(argument, ConstantArgument)]
    for argument, value in zip(arguments, given, strict=True):
        if isinstance(argument, TupleArgument):
            yield from _leaves(argument.items, value)
        elif isinstance(argument, RecordArgument):
            yield from _leaves(argument.items, tuple((fields_of(value) or {}).values()))
        elif not isinstance(argument, ConstantArgument):
            yield argument, value


def _arrays_of_callers() -> list[np.ndarray]:
    """The arrays that tests/semantics have in a local dictionary, and whose addresses they pass."""
    found, frame = [], sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        arrays = frame.f_locals.get("arrays")
        if isinstance(arrays, dict):
            found += [array for array in arrays.values() if isinstance(array, np.ndarray)]
    return found


def _in_array(argument: Argument, value: Any, arrays: list[np.ndarray]) -> Any:
    """For an address in one of the arrays the memory from there to its end; otherwise the value."""
    if not isinstance(argument, PointerArgument) or is_array(value):
        return value
    dtype = POINTEES[argument.element].dtypes[0]
    for array in arrays:
        end = array.ctypes.data + array.nbytes
        if array.ctypes.data <= value < end:
            return ArrayView(value, ((end - value) // dtype.itemsize,), (1,), dtype, True, False, array)
    return value


def _whole(array: ArrayView) -> ArrayView:
    """The bytes of the array of _in_array."""
    owner: Any = array.owner
    return ArrayView(owner.ctypes.data, (owner.nbytes,), (1,), np.dtype(np.uint8), True, False, owner)


def _value(argument: Argument, value: Any, ranges: list[HostRange]) -> Any:
    """The JSON of a value: a number, an array, or a list of arrays."""
    if isinstance(argument, ListArgument):
        return {"list": [_array(view(item, argument.name), ranges) for item in value]}
    if isinstance(value, ArrayView):
        return _array(value, ranges)
    if is_array(value) and getattr(value, "ndim", 1) + (not hasattr(argument, "signless")) > 0:
        return _array(view(value, argument.name), ranges)
    return value.item() if hasattr(value, "item") else value


def _array(array: ArrayView, ranges: list[HostRange]) -> dict[str, Any]:
    begin, size = array.byte_range()
    number = next(
        number
        for number, memory in enumerate(ranges)
        if memory.address <= begin and begin + size <= memory.address + memory.size_bytes
    )
    return {
        "range": number,
        "offset_bytes": begin - ranges[number].address,
        "dtype": _dtype_name(array.dtype),
        "shape": list(array.shape),
        "strides_bytes": [stride * array.dtype.itemsize for stride in array.strides],
        "writable": bool(array.writable),
    }


def _dtype_name(dtype: np.dtype) -> str:
    module = "numpy" if hasattr(np, dtype.type.__name__) else "ml_dtypes"
    return f"{module}.{dtype.type.__name__}"


def _shapes(values: list[Any]) -> list[Any]:
    """What tells launches of one kernel apart: shapes and strides, not scalars."""
    arrays = [value["list"] if "list" in value else [value] for value in values if isinstance(value, dict)]
    return [[(array["shape"], array["strides_bytes"]) for array in listed] for listed in arrays]


def _marks(
    artifact: Artifact, settings: simulator.Settings, ranges: list[HostRange], before: list[bytes], values: list[Any]
) -> dict[str, Any]:
    """Why the result on a GPU may differ, or why the launch cannot run there."""
    marks: dict[str, Any] = {}
    ptx, metadata = artifact.ptx, artifact.metadata
    if _FLOAT_ATOMIC.search(ptx) or _BULK_REDUCTION.search(ptx):
        marks["unordered"] = "sums"
    elif _RETURNING_ATOMIC.search(ptx):
        marks["unordered"] = "old values"
    if settings.allow_unconfirmed or metadata.allow_unconfirmed:
        marks["unconfirmed"] = True
    if not settings.checks:
        marks["unchecked"] = True
    if "vprintf" in ptx:
        marks["prints"] = True
    if "griddepcontrol" in ptx:
        marks["grid_dependency"] = True
    if "multimem." in ptx:
        marks["cannot_run"] = "multimem"
    if _has_addresses(ranges, before, values, metadata):
        marks["cannot_run"] = "host addresses"
    return marks


def _has_addresses(ranges: list[HostRange], before: list[bytes], values: list[Any], metadata: Metadata) -> bool:
    """Whether an argument, or a word of the memory, is the address of memory of the launch."""
    arguments = zip(metadata_arguments(metadata), values, strict=True)
    if any(hasattr(argument, "alignment") and not isinstance(value, dict) for argument, value in arguments):
        return True
    words = [np.array([value for value in values if type(value) is int and 0 <= value < 1 << 64], np.uint64)]
    for memory, content in zip(ranges, before, strict=True):
        skipped = -memory.address % 8
        words.append(np.frombuffer(content, np.uint64, max(0, len(content) - skipped) // 8, min(skipped, len(content))))
    found = np.concatenate(words)
    return any(
        bool(((found >= memory.address) & (found < memory.address + memory.size_bytes)).any()) for memory in ranges
    )


def metadata_arguments(metadata: Metadata) -> tuple[Argument, ...]:
    """The arguments of _flattened."""
    return _flattened(metadata).arguments


# The plugin of pytest.


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--record-launches", type=Path, metavar="FOLDER", help=f"record simulated launches of {TARGET}")


def pytest_configure(config: Any) -> None:
    folder = config.getoption("--record-launches")
    if folder is not None:
        Recorder(folder.resolve()).install()
