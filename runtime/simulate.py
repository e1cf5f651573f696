"""Runs PTX on the processor, in the simulator that also checks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tilec.errors import InputError, Note, SimulationError, SourceLocation, UnsupportedError
from tilec.runtime.aligned_buffer import AlignedBuffer
from tilec.runtime.artifact import Artifact
from tilec.runtime.binding import bind
from tilec.runtime.grid import Dimensions, grid_of
from tilec.runtime.padding_memory import PADDING_BYTES
from tilec.runtime.parameters import block, pack
from tilec.runtime.ptxsim import _native
from tilec.runtime.tensor_map import encode_for_simulator

Range = tuple[int, int, bool]


@dataclass(frozen=True)
class Settings:
    """How a simulation runs: `seed` orders warps and asynchronous work, `checks` looks for races and lost waits,
    `step_limit` ends it after so many instructions of a warp (0 is never). `same_value_races` reports concurrent
    stores of one value, `read_fences` an asynchronous write after generic reads without a proxy fence; `print` takes
    the output of the kernel's printf (None is sys.stdout).
    """

    seed: int = 0
    checks: bool = True
    allow_unconfirmed: bool = False
    unchecked_global: bool = False
    step_limit: int = 0
    same_value_races: bool = False
    read_fences: bool = True
    print: Callable[[str], object] | None = None


DEFAULT_SETTINGS = Settings()


@dataclass(frozen=True)
class Shape:
    """The shape of a launch; `shared_bytes` are the dynamic ones."""

    grid: Dimensions
    block: Dimensions
    cluster: Dimensions = (1, 1, 1)
    shared_bytes: int = 0


def simulate(
    artifact: Artifact, grid: Sequence[int] | int, given: Sequence[Any], settings: Settings = DEFAULT_SETTINGS
) -> dict[str, int]:
    """Runs the artifact's PTX on host arrays, in place, and returns the simulator's counters.

    Raises InputError for arguments that do not fit, SimulationError for what the kernel does wrong.
    """
    if not artifact.ptx:
        raise InputError(f"{artifact.path or artifact.metadata.entry} has no PTX, and the simulator runs nothing else")
    metadata = artifact.metadata
    binding = bind(metadata.arguments, given)
    for index, array in binding.arrays.items():
        if array.on_device:
            raise InputError(f"argument '{binding.names[index]}' lies on a GPU; the simulator needs host arrays")
    shape = Shape(grid_of(grid, metadata.cluster), metadata.block, metadata.cluster, metadata.shared_bytes)
    settings = replace(
        settings,
        allow_unconfirmed=settings.allow_unconfirmed or metadata.allow_unconfirmed,
        unchecked_global=settings.unchecked_global or bool(binding.plain_addresses),
    )
    padding = _Padding()
    parameters = block(pack(metadata, binding, encode_for_simulator, padding.address))
    name = f"{artifact.path}.ptx" if artifact.path else f"{metadata.entry}.ptx"
    return run_text(
        artifact.ptx, metadata.entry, shape, parameters, binding.ranges() + padding.ranges(), settings, name
    )


class _Padding:
    """Memory for the tensor maps of arrays without elements."""

    def __init__(self) -> None:
        self._buffers: list[AlignedBuffer] = []

    def address(self, _index: int, byte: int) -> int:
        buffer = AlignedBuffer(PADDING_BYTES, PADDING_BYTES)
        buffer.write(bytes([byte]) * PADDING_BYTES)
        self._buffers.append(buffer)
        return buffer.address

    def ranges(self) -> list[Range]:
        return [(buffer.address, buffer.size_bytes, True) for buffer in self._buffers]


@lru_cache(maxsize=16)
def program(ptx: str, name: str = "kernel.ptx") -> Any:
    """The parsed PTX; InputError at a mistake, UnsupportedError with every instruction that cannot be run."""
    try:
        parsed = _native.Program(ptx)
    except _native.PtxError as error:
        raise InputError(error.message, SourceLocation(name, error.line, error.column)) from None
    if parsed.unsupported:
        lines = [Note(text, SourceLocation(name, line)) for line, text in parsed.unsupported]
        raise UnsupportedError(f"the simulator cannot run {len(lines)} instructions of {name}", notes=lines)
    return parsed


def run_text(
    ptx: str,
    entry: str,
    shape: Shape,
    parameters: bytes,
    ranges: list[Range],
    settings: Settings,
    name: str = "kernel.ptx",
) -> dict[str, int]:
    """Runs an entry of any PTX with this parameter block on host memory; `ranges` are what it may touch.

    Returns the counters by name; a grid without blocks counts nothing.
    """
    parsed = program(ptx, name)
    _check_block(parsed, entry, parameters, name)
    if 0 in shape.grid:
        return {}
    try:
        return parsed.run(
            entry,
            grid=shape.grid,
            block=shape.block,
            cluster=shape.cluster,
            shared_bytes=shape.shared_bytes,
            parameters=parameters,
            ranges=ranges,
            seed=settings.seed,
            checks=settings.checks,
            allow_unconfirmed=settings.allow_unconfirmed,
            unchecked_global=settings.unchecked_global,
            step_limit=settings.step_limit,
            same_value_races=settings.same_value_races,
            read_fences=settings.read_fences,
            print=settings.print,
        )
    except _native.Trap as trap:
        raise _error(trap, ptx, name) from None
    except _native.PtxError as error:
        raise InputError(
            error.message, SourceLocation(name, error.line, error.column) if error.line else None
        ) from None


def _check_block(parsed: Any, entry: str, parameters: bytes, name: str) -> None:
    declared = next((candidate for candidate in parsed.entries if candidate.name == entry), None)
    if declared is None:
        known = ", ".join(candidate.name for candidate in parsed.entries) or "none"
        raise InputError(f"{name} has no entry '{entry}' (entries: {known})")
    expected = block_size(declared.parameters)
    if len(parameters) != expected:
        raise InputError(f"entry '{entry}' declares {expected} bytes of parameters, got {len(parameters)}")


def block_size(parameters: Sequence[tuple[str, int, int]]) -> int:
    """Bytes of the parameters (name, size, alignment) laid out in order."""
    end = 0
    for _, size, alignment in parameters:
        end += -end % alignment + size
    return end


def _error(trap: Any, ptx: str, name: str) -> SimulationError:
    location = SourceLocation(trap.file, trap.source_line) if trap.file else None
    notes = []
    if trap.line:
        text = ptx.splitlines()[trap.line - 1].split("//")[0].strip()
        where = f"in block {tuple(trap.block)}, thread {tuple(trap.thread)}"
        notes.append(Note(f"{where}: {text}", SourceLocation(name, trap.line)))
    notes.extend(Note(note) for note in trap.notes)
    return SimulationError(f"{trap.kind}: {trap.message}", location, notes)
