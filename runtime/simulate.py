"""Simulation of PTX on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeGuard

import numpy as np

from tilec.errors import InputError, Note, SimulationError, SourceLocation
from tilec.frozen import Frozen, replace
from tilec.runtime.aligned_buffer import AlignedBuffer
from tilec.runtime.arguments.binding import bind
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.grid import Dimensions, cluster_of, grid_of
from tilec.runtime.parameters import block, pack
from tilec.runtime.ptxsim import _native
from tilec.runtime.tensor_maps.padding_memory import PADDING_BYTES
from tilec.runtime.tensor_maps.tensor_map import encode_for_simulator

Range = tuple[int, int, bool]


class Settings(Frozen):
    """Options of a simulation.

    Attributes:
        seed: determines the order of warps and asynchronous operations.
        checks: reports races and missing waits.
        allow_unconfirmed: accepts forms that the manual does not document for the target.
        unchecked_global: allows accesses outside the arrays of the launch.
        step_limit: the maximum number of warp instructions of the launch; 0 is unlimited.
        limit_s: the maximum duration of the run in seconds; None is unlimited.
        same_value_races: also reports concurrent stores of equal values.
        tensor_load_waits: also reports reads of the registers of tcgen05.ld before tcgen05.wait::ld, which PTX permits.
        read_fences: reports an asynchronous write after generic reads without a proxy fence.
        print: receives the output of printf; None is sys.stdout.
        progress: called now and then with the number of blocks that have ended and that of all blocks.
    """

    seed: int = 0
    checks: bool = True
    allow_unconfirmed: bool = False
    unchecked_global: bool = False
    step_limit: int = 0
    limit_s: float | None = None
    same_value_races: bool = False
    tensor_load_waits: bool = False
    read_fences: bool = True
    print: Callable[[str], object] | None = None
    progress: Callable[[int, int], object] | None = None


DEFAULT_SETTINGS = Settings()

_MAX_U32, _MAX_U64 = 2**32 - 1, 2**64 - 1


class Shape(Frozen):
    """The dimensions of a launch; `shared_bytes` is the size of dynamic shared memory."""

    grid: Dimensions
    block: Dimensions
    cluster: Dimensions = (1, 1, 1)
    shared_bytes: int = 0


def simulate(
    artifact: Artifact, grid: Sequence[int] | int, given: Sequence[object], settings: Settings = DEFAULT_SETTINGS
) -> dict[str, int]:
    """Runs the artifact's PTX on host arrays, in place, and returns the simulator's counters.

    Among them are `instructions` of warps, `tensor_core_multiply_adds`, bytes that threads move (`bytes.global_read`,
    `bytes.shared_written`, ..), and bytes of bulk copies and TMA: `bulk_load_bytes` arrive in shared memory, in that of
    each block of a multicast; `bulk_load_l2_bytes` come from global memory, once for a multicast and without the fill
    of elements outside of an array; `bulk_store_bytes` leave shared memory.

    Raises InputError for arguments that do not match the signature, SimulationError for an error of the kernel.
    """
    if not artifact.ptx:
        raise InputError(f"{artifact.path or artifact.metadata.entry} has no PTX, which the simulator requires")
    metadata = artifact.metadata
    binding = bind(metadata.arguments, given)
    for name, array in binding.named_arrays().items():
        if array.on_device:
            raise InputError(f"argument '{name}' is a device array; the simulator needs host arrays")
    blocks = grid_of(grid, metadata.cluster, metadata.grid_counts_clusters, metadata.cluster_if_divisible)
    shape = Shape(blocks, metadata.block, cluster_of(blocks, metadata.cluster), metadata.shared_bytes)
    settings = replace(
        settings,
        allow_unconfirmed=settings.allow_unconfirmed or metadata.allow_unconfirmed,
        unchecked_global=settings.unchecked_global or bool(binding.plain_addresses),
    )
    memory = _Memory()
    parameters = block(pack(metadata, binding, encode_for_simulator, memory.padding, memory.place))
    name = f"{artifact.path}.ptx" if artifact.path else f"{metadata.entry}.ptx"
    return run_text(artifact.ptx, metadata.entry, shape, parameters, binding.ranges() + memory.ranges(), settings, name)


class _Memory:
    """Memory for the tensor maps of arrays without elements, and for the tables of those of lists."""

    def __init__(self) -> None:
        self._buffers: list[tuple[AlignedBuffer, bool]] = []

    def padding(self, _index: int, byte: int) -> int:
        return self._with(bytes([byte]) * PADDING_BYTES, writable=True)

    def place(self, content: np.ndarray) -> int:
        return self._with(content.tobytes(), writable=False)

    def _with(self, content: bytes, *, writable: bool) -> int:
        buffer = AlignedBuffer(len(content), PADDING_BYTES)
        buffer.write(content)
        self._buffers.append((buffer, writable))
        return buffer.address

    def ranges(self) -> list[Range]:
        return [(buffer.address, buffer.size_bytes, writable) for buffer, writable in self._buffers]


@lru_cache(maxsize=16)
def program(ptx: str, name: str = "kernel.ptx") -> _native.Program:
    """The parsed PTX; raises InputError for an error. A launch that reaches an unsupported instruction stops there."""
    try:
        return _native.Program(ptx)
    except _native.PtxError as error:
        raise InputError(error.message, SourceLocation(name, error.line, error.column)) from None


def unsupported_forms(ptx: str, name: str = "kernel.ptx") -> list[Note]:
    """The instructions that the simulator does not support, or refuses; raises InputError for any other error."""
    try:
        return [Note(text, SourceLocation(name, line)) for line, text in _native.check_forms(ptx)]
    except _native.PtxError as error:
        raise InputError(error.message, SourceLocation(name, error.line, error.column)) from None


def run_text(
    ptx: str,
    entry: str,
    shape: Shape,
    parameters: bytes,
    ranges: list[Range],
    settings: Settings,
    name: str = "kernel.ptx",
) -> dict[str, int]:
    """Runs an entry of any PTX with this parameter block on host memory, within `ranges`.

    Returns the counters by name, none for a grid without blocks. Raises InputError for settings out of range.
    """
    _check_settings(settings)
    _check_shape(shape)
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
            time_limit_s=settings.limit_s or 0.0,
            same_value_races=settings.same_value_races,
            tensor_load_waits=settings.tensor_load_waits,
            read_fences=settings.read_fences,
            print=settings.print,
            progress=settings.progress,
        )
    except _native.Trap as trap:
        raise _error(trap, ptx, name) from None
    except _native.PtxError as error:
        raise InputError(
            error.message, SourceLocation(name, error.line, error.column) if error.line else None
        ) from None


def _check_settings(settings: Settings) -> None:
    for name in ("seed", "step_limit"):
        _check_range(name, getattr(settings, name), 0, _MAX_U64)
    limit = settings.limit_s
    # The comparison is false for NaN.
    if limit is not None and not (_is_number(limit) and 0 < limit < float("inf")):
        raise InputError(f"limit_s needs a number of seconds greater than 0, got {limit!r}")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_shape(shape: Shape) -> None:
    for name, extents in (("the block", shape.block), ("the cluster", shape.cluster)):
        for extent in extents:
            _check_range(name, extent, 1, _MAX_U32)
    _check_range("dynamic shared memory", shape.shared_bytes, 0, _MAX_U32)


def _check_range(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not (isinstance(value, int) and least <= value <= most):
        raise InputError(f"{name} needs an integer from {least} to {most}, got {value!r}")


def _check_block(parsed: _native.Program, entry: str, parameters: bytes, name: str) -> None:
    declared = next((candidate for candidate in parsed.entries if candidate.name == entry), None)
    if declared is None:
        known = ", ".join(candidate.name for candidate in parsed.entries) or "none"
        raise InputError(f"{name} has no entry '{entry}' (entries: {known})")
    expected = block_size(declared.parameters)
    if len(parameters) != expected:
        raise InputError(f"entry '{entry}' declares {expected} bytes of parameters, got {len(parameters)}")


def block_size(parameters: Sequence[tuple[str, int, int]]) -> int:
    """The size in bytes of a block of parameters (name, size, alignment)."""
    end = 0
    for _, size, alignment in parameters:
        end += -end % alignment + size
    return end


def _error(trap: _native.Trap, ptx: str, name: str) -> SimulationError:
    location = SourceLocation(trap.file, trap.source_line) if trap.file else None
    notes = []
    if trap.line:
        text = ptx.splitlines()[trap.line - 1].split("//")[0].strip()
        where = f"in block {tuple(trap.block)}, thread {tuple(trap.thread)}"
        notes.append(Note(f"{where}: {text}", SourceLocation(name, trap.line)))
    notes.extend(Note(note) for note in trap.notes)
    return SimulationError(": ".join(filter(None, (trap.kind, trap.message))), location, notes)
