"""`ct.launch`: compile a kernel for its arguments, once, and run it over a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilec import options
from tilec.compile_options import CompileOptions
from tilec.driver.backends import default_backend, run
from tilec.driver.compiled import Compiled
from tilec.driver.stages import compile as compile_kernel
from tilec.errors import InputError, UsageError
from tilec.language.kernel import Kernel
from tilec.runtime.arrays import is_array, view
from tilec.signature import Signature

# How far a backend needs a kernel to be compiled.
_LAST_STAGE = {"interpret": "tile", "simulate": "ptx", "launch": "cubin"}


def launch(
    stream: Any,
    grid: Sequence[int] | int,
    kernel: Kernel,
    args: Sequence[Any],
    *,
    backend: str | None = None,
    hints: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Any:
    """Run `kernel` on every block of `grid` (one to three extents); arrays in `args` are changed in place.

    Host arrays run in the simulator for `TILEC_TARGET`, device arrays in `stream` on their device; `backend` or
    `TILEC_BACKEND` (interpret, simulate, launch) decides otherwise. A kernel is compiled once for each signature its
    arguments have. `hints` are options of tilec.compile_options by name, which stand before those of the kernel.
    `settings` are those of tilec.run. Gives the simulator's counters, else None.

    Raises CompileError at the user's line, InputError for arguments that do not fit, SimulationError for what the
    simulator finds.
    """
    if not isinstance(kernel, Kernel):
        raise UsageError(f"ct.launch takes a function decorated with @ct.kernel, got {type(kernel).__name__}")
    if not isinstance(args, tuple | list):
        raise InputError(f"ct.launch takes the kernel's arguments as a tuple, got {type(args).__name__}")
    chosen = backend or options.from_environment().backend or default_backend(args)
    if chosen not in _LAST_STAGE:
        raise UsageError(f"unknown backend '{chosen}': expected one of {', '.join(_LAST_STAGE)}")
    compiled = _compiled(kernel, Signature.from_arguments(kernel, args), chosen, args, hints or {})
    return run(compiled, grid, args, backend=chosen, entry=kernel.name, stream=stream, **settings)


def _compiled(
    kernel: Kernel, signature: Signature, backend: str, args: Sequence[Any], hints: Mapping[str, Any]
) -> Compiled:
    target = _target(backend, args)
    stop = _LAST_STAGE[backend]
    key = str(signature), target, stop, CompileOptions.of(hints)
    if key not in kernel.compiled:
        kernel.compiled[key] = compile_kernel(kernel, target=target, signature=signature, hints=hints, stop=stop)
    return kernel.compiled[key]


def _target(backend: str, args: Sequence[Any]) -> str:
    """The target of the device that the arrays lie on, else the one of the environment."""
    on_device = [array for array in args if is_array(array) and view(array, "").on_device]
    if backend != "launch" or not on_device:
        return options.from_environment().target
    from tilec.runtime.devices import devices, ordinal_of

    return f"{devices()[ordinal_of(view(on_device[0], '').address)].architecture}a"
