"""Runs a compiled entry in one of three ways: interpreted, simulated, or launched on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilec import options
from tilec.driver.compiled import Compiled
from tilec.driver.stages import compile as compile_entry
from tilec.errors import UsageError
from tilec.runtime import artifact as artifacts
from tilec.runtime.arrays import is_array, view
from tilec.runtime.artifact import Artifact
from tilec.runtime.binding import Binding, bind
from tilec.runtime.grid import grid_of

# The backends, each with the settings that `run` passes on to it.
BACKENDS = {
    "interpret": ("check", "truncate_tf32", "memory", "progress"),
    "simulate": ("seed", "checks", "allow_unconfirmed", "unchecked_global", "step_limit"),
    "launch": (),
}


def load(path: str | Path) -> Artifact:
    """The artifact at `path` (its stem or any of its files), ready for `run`; no compiler is needed or imported."""
    return artifacts.load(path)


def preload(compiled: Compiled | Artifact, ordinal: int | None = None) -> None:
    """Loads a kernel on a GPU (default: the first of its target), so that its first launch has only to launch.

    Raises UsageError for a compile that stopped before PTX, LaunchError where no GPU can run the kernel.
    """
    from tilec.runtime.launch import preload as load_on_device

    load_on_device(compiled.artifact if isinstance(compiled, Compiled) else compiled, ordinal)


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
) -> Any:
    """Runs a Compiled, an artifact, a Module, or a stage's text or path on `args`, arrays being changed in place.

    A pointer argument may be an array or a plain address of the host. In the interpreter a kernel may touch its arrays
    and those in the setting `memory`, to which addresses in memory may lead; given a plain address and no `memory`,
    whatever the process may. Without `backend` (or `TILEC_BACKEND`) host arrays are simulated and device arrays
    launched. `settings` are those of the backend: see BACKENDS, and tilec.runtime.simulate.Settings and
    tilec.runtime.interpret.run for what they mean. Returns the simulator's counters, else None. Raises UsageError for
    a wrong call, InputError for arguments that do not fit.
    """
    chosen = backend or options.from_environment().backend or default_backend(args)
    if chosen not in BACKENDS:
        raise UsageError(f"unknown backend '{chosen}': expected one of {', '.join(BACKENDS)}")
    for name in settings:
        if name not in BACKENDS[chosen]:
            known = ", ".join(BACKENDS[chosen]) or "none"
            raise UsageError(f"backend '{chosen}' has no setting '{name}': its settings are {known}")
    if chosen == "interpret":
        return _interpret(compiled_or_module, grid, args, entry, settings)
    artifact = _artifact(compiled_or_module, entry, target, "ptx" if chosen == "simulate" else "cubin")
    if chosen == "launch":
        from tilec.runtime.launch import launch

        return launch(artifact, grid, args, stream)
    from tilec.runtime.simulate import Settings, simulate

    return simulate(artifact, grid, args, replace(Settings(options.from_environment().seed), **settings))


def default_backend(args: Sequence[Any]) -> str:
    """`launch` where an array lies on a device, else `simulate`."""
    return "launch" if any(is_array(arg) and view(arg, "").on_device for arg in args) else "simulate"


def _artifact(given: Any, entry: str | None, target: str | None, stop: str) -> Artifact:
    if isinstance(given, Artifact):
        return given
    compiled = given if isinstance(given, Compiled) else compile_entry(given, entry=entry, target=target, stop=stop)
    return compiled.artifact


def _interpret(given: Any, grid: Sequence[int] | int, args: Sequence[Any], entry: str | None, settings: Any) -> None:
    if isinstance(given, Artifact):
        raise UsageError("an artifact holds no Tile IR to interpret; simulate it, or interpret the module")
    from tilec.driver.entries import arguments_of, chosen
    from tilec.runtime.interpret.run import run as interpret

    compiled = given if isinstance(given, Compiled) else compile_entry(given, stop="tile")
    tile = compiled.stage("tile")
    if tile is None:
        raise UsageError(f"{compiled.source.name} begins below Tile IR, and nothing else can be interpreted")
    name = chosen(tile.value, entry or compiled.entry)
    binding = bind(arguments_of(tile.value, name), args)
    ranges = _ranges(binding, settings.pop("memory", None))
    interpret(tile.value, name, grid_of(grid), binding.values, ranges=ranges, **settings)


def _ranges(binding: Binding, memory: Sequence[Any] | None) -> list[tuple[int, int, bool]] | None:
    """What a kernel may touch; None is everything that the process may."""
    if memory is None:
        return None if binding.plain_addresses else binding.ranges()
    further = [view(array, f"memory[{index}]") for index, array in enumerate(memory)]
    return [*binding.ranges(), *((*array.byte_range(), array.writable) for array in further)]
