"""Compiles a kernel for the arguments of a call, once per signature, target, backend and options."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tilec import options
from tilec.compile_options import CompileOptions
from tilec.driver.compiled import Compiled
from tilec.driver.disk_cache import Request, kept_or_compiled
from tilec.language.kernel import Kernel
from tilec.process.compile_lock import COMPILING
from tilec.runtime.arguments.structured_values import arrays_in
from tilec.runtime.arrays import is_on_device, view
from tilec.signature import Signature

# Backend -> the last stage that it needs.
LAST_STAGE = {"interpret": "tile", "simulate": "ptx", "launch": "cubin"}


def specialized(
    kernel: Kernel,
    backend: str,
    args: Sequence[Any],
    *,
    target: str | None = None,
    hints: Mapping[str, Any] | None = None,
) -> Compiled:
    """The kernel compiled for these arguments up to the last stage that the backend needs.

    The default of `target` is the target of the device that holds the arrays, else `TILEC_TARGET`.
    """
    if backend == "launch":
        # Imported here because it loads the native module of launches.
        from tilec.runtime.devices.devices import start_driver

        start_driver()
    signature = Signature.from_arguments(kernel, args)
    chosen = target or default_target(backend, args)
    stop = LAST_STAGE[backend]
    given = CompileOptions.of(hints or {})
    key = str(signature), signature.classes, chosen, stop, given
    variants: dict[Hashable, Compiled] = kernel.compiled
    if key not in variants:
        request = Request(kernel, signature, chosen, given, stop)
        with COMPILING:
            # Another thread may have compiled it in the meantime.
            if key not in variants:
                variants[key] = kept_or_compiled(request, lambda: _compile(request, hints))
    return variants[key]


def _compile(request: Request, hints: Mapping[str, Any] | None) -> Compiled:
    # Imported here because a kernel in the disk cache needs no compiler.
    from tilec.driver.stages import compile as compile_kernel

    return compile_kernel(
        request.kernel, target=request.target, signature=request.signature, hints=hints, stop=request.stop
    )


def default_target(backend: str, args: Sequence[Any]) -> str:
    """The target of the device that holds the arrays, else `TILEC_TARGET`."""
    on_device = list(filter(is_on_device, arrays_in(args)))
    if backend != "launch" or not on_device:
        return options.from_environment().target
    from tilec.runtime.devices.devices import devices, ordinal_of

    return f"{devices()[ordinal_of(view(on_device[0], '').address)].architecture}a"
