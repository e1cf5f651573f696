"""The candidates of a search: each configuration with its Tile IR, its grid and its arguments."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilec.ahead_of_time.request import Request
from tilec.driver.specialized import LAST_STAGE
from tilec.language.kernel import Kernel
from tilec.lowering.model.launch import Work
from tilec.runtime.arguments.binding import Binding, bind
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.grid import Dimensions, grid_of
from tilec.signature import Signature
from tilec.tuning.tile_work import work_of


@dataclass
class Candidate:
    """A configuration, and the results of its steps in a search.

    Attributes:
        config: the configuration.
        grid: the grid of its launches.
        arguments: makes the arguments of a launch.
        request: its compile.
        identity: text that differs if the time may differ, but for the device and the timer.
        artifact: the compiled kernel, after the compile.
    """

    config: Any
    grid: Dimensions
    arguments: Callable[[], tuple[Any, ...]]
    request: Request
    identity: str
    artifact: Artifact | None = field(default=None)


def candidate_of(
    config: Any,
    grid: Sequence[int] | int,
    kernel: Kernel,
    arguments: Callable[[], tuple[Any, ...]],
    backend: str,
    target: str,
    options: Mapping[str, Any],
    with_work: bool = False,
) -> tuple[Candidate, Work | None]:
    """Traces the kernel to Tile IR, and counts its work if `with_work`.

    Raises TilecError if the kernel or the arguments are invalid.
    """
    given = arguments()
    signature = Signature.from_arguments(kernel, given)
    shape = grid_of(grid)
    module = kernel.to_tile(signature, target=target)
    text = module.to_text(locations=True)
    binding = bind(signature.arguments, given)
    hints = _options(kernel, target, options)
    work = work_of(module.ir, shape, binding.integers(), hints.get("stages")) if with_work else None
    request = Request(kernel.name, text, target, hints=hints, stop=LAST_STAGE[backend])
    return Candidate(config, shape, arguments, request, _identity(module.to_text(), request, binding, shape)), work


def _options(kernel: Kernel, target: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The compile options, with `opt_level` of the kernel, which Tile IR does not contain."""
    level = kernel.hints.opt_level_for(target)
    return {**({} if level is None else {"opt_level": level}), **options}


def _identity(module: str, request: Request, binding: Binding, grid: Dimensions) -> str:
    """The digest of Tile IR without locations, options, grid, and entry arguments other than addresses."""
    values = [value for index, value in enumerate(binding.values) if index not in binding.arrays]
    parts = (module, request.target, sorted(request.hints.items()), grid, values)
    return hashlib.sha256(repr(parts).encode()).hexdigest()
