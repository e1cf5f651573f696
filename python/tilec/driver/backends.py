"""Runs a compiled entry on one of three backends: interpret, simulate, or launch on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilec import options
from tilec.diagnostics.user_traceback import public
from tilec.driver.compiled import Compiled
from tilec.errors import UsageError
from tilec.frozen import replace
from tilec.process.progress import elapsed
from tilec.runtime.arguments.binding import Binding, bind
from tilec.runtime.arguments.structured_values import arrays_in
from tilec.runtime.arrays import is_on_device, view
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.artifact import load as load_artifact  # noqa: F401  (a name of the public interface)
from tilec.runtime.grid import grid_of

if TYPE_CHECKING:
    from tilec.runtime.artifact.kernel_folder import LoadedKernel

# Backend -> the settings that `run` accepts for it.
BACKENDS = {
    "interpret": ("check", "truncate_tf32", "memory", "progress", "print"),
    # Python executes the function of a kernel, statement by statement.
    "python": ("truncate_tf32", "print"),
    "simulate": (
        "seed",
        "checks",
        "allow_unconfirmed",
        "unchecked_global",
        "step_limit",
        "limit_s",
        "same_value_races",
        "tensor_load_waits",
        "read_fences",
        "print",
        "progress",
    ),
    "launch": ("programmatic_dependent_launch",),
}


def preload(compiled: Compiled | Artifact, ordinal: int | None = None) -> None:
    """Loads a kernel on a GPU before its first launch, which is then faster.

    Args:
        compiled: the kernel, compiled to PTX or to a later stage, or read by `load_artifact`.
        ordinal: the number of the GPU; None selects the first GPU of the kernel's target.

    Raises:
        UsageError: the compile stopped before PTX.
        LaunchError: no GPU can run the kernel.

    Example:
        >>> @ct.kernel
        ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
        >>> try: ct.preload(ct.compile(example, signature="x: i32[?]", stop="tile"))
        ... except ct.TileError as error: print(error.message)
        example has no launch metadata: compile it to stage 'ptx' or 'cubin'
    """
    from tilec.runtime.launch.launch import preload as load_on_device

    load_on_device(compiled.artifact if isinstance(compiled, Compiled) else compiled, ordinal)


@public
def run(
    compiled_or_module: Any,
    grid: Sequence[int] | int,
    args: Sequence[Any],
    *,
    backend: str | None = None,
    entry: str | None = None,
    target: str | None = None,
    stream: Any = None,
    **settings: Any,
) -> dict[str, int] | None:
    """Runs a kernel with the arguments `args` on every block of `grid`; the kernel modifies arrays in place.

    Args:
        compiled_or_module: a kernel (compiled for `args`), a Compiled, an artifact, a kernel of a folder that
            `tilec.load` read (the variant for `args`), a Module, or the text or path of a stage.
        grid: one to three numbers of blocks. If one of them is 0, no block runs, on any backend.
        args: the arguments in the order of the parameters, with or without the constants. A pointer argument is an
            array or an address in host memory.
        backend: "interpret", "python", "simulate" or "launch"; the default is "python" for `ct.kernel(interpret=True)`,
            else `TILEC_BACKEND`, else "launch" if an array is in device memory, else "simulate".
        entry: the entry to run if the module has several.
        target: the target that a kernel or a module is compiled for (default: `TILEC_TARGET`).
        stream: the stream of a launch, see ct.launch.
        settings: settings of the backend; BACKENDS lists their names. For those of simulate see
            tilec.runtime.simulate.Settings (such as `limit_s`, the maximum duration of a run in seconds), for those of
            interpret tilec.runtime.interpret.run. `memory` of interpret is further arrays that the kernel accesses
            through addresses in memory; if an argument is an address and `memory` is absent, the kernel may access all
            memory of the process. `print` of both is called with the text that the kernel prints; without it the text
            is written to standard output.

    Returns:
        The simulator's counters by name; None for the other backends.

    Raises:
        UsageError: the call is invalid: an unknown backend or setting, or an object that cannot be run.
        InputError: the arguments do not match the parameters.
        SimulationError: the simulator or the interpreter reports an error of the kernel.
        LaunchError: no GPU can run the kernel.

    Example:
        >>> import numpy as np
        >>> import tilec
        >>> @tilec.kernel
        ... def double(x, tile: tilec.Constant[int]):
        ...     block = (tilec.bid(0),)
        ...     tilec.store(x, block, tilec.load(x, block, (tile,)) * 2)
        >>> compiled = tilec.compile(double, signature="x: f32[?], tile=4", stop="ptx")
        >>> x = np.arange(4, dtype=np.float32)
        >>> counters = tilec.run(compiled, 1, (x, 4))
        >>> x
        array([0., 2., 4., 6.], dtype=float32)
    """
    chosen = chosen_backend(backend, args, compiled_or_module)
    for name in settings:
        if name not in BACKENDS[chosen]:
            known = ", ".join(BACKENDS[chosen]) or "none"
            raise UsageError(f"backend '{chosen}' has no setting '{name}': its settings are {known}")
    if chosen == "python":
        _execute(compiled_or_module, grid, args, settings)
        return None
    if hasattr(compiled_or_module, "to_tile"):
        from tilec.driver.specialized import specialized

        hints = {"checks": True} if settings.get("check") else None
        compiled_or_module = specialized(compiled_or_module, chosen, args, target=target, hints=hints)
    if chosen == "interpret":
        _interpret(compiled_or_module, grid, args, entry, settings)
        return None
    if is_loaded_kernel(compiled_or_module):
        compiled_or_module = _variant(compiled_or_module, chosen, args, target)
    artifact = _artifact(compiled_or_module, entry, target, "ptx" if chosen == "simulate" else "cubin")
    if chosen == "launch":
        from tilec.runtime.launch.launch import launch

        launch(artifact, grid, args, stream, **settings)
        return None
    from tilec.runtime.simulate import Settings, simulate

    with elapsed("simulate") as report:
        chosen_settings = Settings(options.from_environment().seed, progress=report)
        return simulate(artifact, grid, args, replace(chosen_settings, **settings))


def chosen_backend(backend: str | None, args: Sequence[Any], kernel: Any = None) -> str:
    """The backend of a run: `backend` if given, else that of the kernel, of `TILEC_BACKEND`, or of the arguments."""
    of_kernel = "python" if getattr(kernel, "interpret", False) else None
    chosen = backend or of_kernel or options.from_environment().backend or default_backend(args)
    if chosen not in BACKENDS:
        raise UsageError(f"unknown backend '{chosen}': expected one of {', '.join(BACKENDS)}")
    return chosen


def default_backend(args: Sequence[Any]) -> str:
    """`launch` if an array is in device memory, else `simulate`."""
    return "launch" if any(map(is_on_device, arrays_in(args))) else "simulate"


def is_loaded_kernel(given: object) -> bool:
    """Whether `tilec.load` has read the object, whose class then is loaded."""
    module = sys.modules.get("tilec.runtime.artifact.kernel_folder")
    return module is not None and isinstance(given, module.LoadedKernel)


def _variant(kernel: LoadedKernel, backend: str, args: Sequence[Any], target: str | None) -> Artifact:
    """The variant for the arguments; a simulation runs another target if the default one was not compiled."""
    from tilec.driver.specialized import default_target

    wanted = target or default_target(backend, args)
    if target is None and backend == "simulate" and wanted not in kernel.targets:
        wanted = kernel.targets[0]
    return kernel.artifact_for(args, wanted)


def _artifact(given: Any, entry: str | None, target: str | None, stop: str) -> Artifact:
    if not isinstance(given, Artifact | Compiled):
        return _compiled(given, entry=entry, target=target, stop=stop).artifact
    artifact = given if isinstance(given, Artifact) else given.artifact
    found = artifact.metadata.target
    if target not in (None, found):
        raise UsageError(f"'{artifact.metadata.entry}' is already compiled for {found} and cannot run for {target}")
    return artifact


def _compiled(given: Any, **settings: Any) -> Compiled:
    # Imported here because artifacts run without the compiler.
    from tilec.driver.stages import compile as compile_entry

    return compile_entry(given, **settings)


def _execute(given: Any, grid: Sequence[int] | int, args: Sequence[Any], settings: dict[str, Any]) -> None:
    if not hasattr(given, "to_tile"):
        raise UsageError(f"backend 'python' executes a kernel's function, got {type(given).__name__}")
    if default_backend(args) == "launch":
        raise UsageError("backend 'python' needs host arrays, got an array in device memory: copy it to the host")
    from tilec.python_run.run import run as execute

    execute(given, grid, args, **settings)


def _interpret(
    given: Any, grid: Sequence[int] | int, args: Sequence[Any], entry: str | None, settings: dict[str, Any]
) -> None:
    if isinstance(given, Artifact) or is_loaded_kernel(given):
        raise UsageError("an artifact contains no Tile IR to interpret: simulate it, or interpret the module")
    from tilec.driver.entries import arguments_of, chosen
    from tilec.runtime.interpret.run import run as interpret

    compiled = given if isinstance(given, Compiled) else _compiled(given, stop="tile")
    tile = compiled.stage("tile")
    if tile is None:
        raise UsageError(f"{compiled.source.name} is at a stage after Tile IR: only Tile IR can be interpreted")
    name = chosen(tile.value, entry or compiled.entry)
    binding = bind(arguments_of(tile.value, name), args)
    ranges = _ranges(binding, settings.pop("memory", None))
    write = settings.pop("print", None)
    interpret(tile.value, name, grid_of(grid), binding.values, ranges=ranges, write=write, **settings)


def _ranges(binding: Binding, memory: Sequence[Any] | None) -> list[tuple[int, int, bool]] | None:
    """The address ranges that a kernel may access, each with whether it is writable; None allows the whole process."""
    if memory is None:
        return None if binding.plain_addresses else binding.ranges()
    further = [view(array, f"memory[{index}]") for index, array in enumerate(memory)]
    return [*binding.ranges(), *((*array.byte_range(), array.writable) for array in further)]
