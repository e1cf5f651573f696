"""`ct.launch`: compiles a kernel once per signature of its arguments, and runs it over a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilec.diagnostics.user_traceback import public
from tilec.driver.backends import chosen_backend, run
from tilec.driver.specialized import specialized
from tilec.errors import InputError, UsageError
from tilec.language.kernel import Kernel
from tilec.runtime.kernel_folder import LoadedKernel


@public
def launch(
    stream: Any,
    grid: Sequence[int] | int,
    kernel: Kernel | LoadedKernel,
    args: Sequence[Any],
    *,
    backend: str | None = None,
    hints: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Any:
    """Runs `kernel` on every block of `grid`; the kernel modifies arrays of `args` in place.

    Args:
        stream: the stream of a launch on a GPU: a handle, a stream of torch or cupy, or an object with
            `__cuda_stream__`. None selects the current stream of the arrays' library, or the default stream if the
            library has none.
        grid: one to three numbers of blocks.
        kernel: a function decorated with `@ct.kernel`, which is compiled once for each signature of its arguments, or
            a kernel of a folder that `tilec.load` read.
        args: the arguments in the order of the parameters: arrays, numbers, values of constants.
        backend: "interpret", "simulate" or "launch"; the default is `TILEC_BACKEND`, else "launch" if an array is in
            device memory, else "simulate" (for `TILEC_TARGET`).
        hints: options of tilec.compile_options by name; they take precedence over the hints of the kernel.
        settings: settings of the backend, see tilec.run.

    Returns:
        The simulator's counters by name; None for the other backends.

    Raises:
        CompileError: the kernel violates a rule, at its source line.
        InputError: the arguments do not match the parameters.
        SimulationError: the simulator or the interpreter reports an error of the kernel.
        LaunchError: no GPU can run the kernel.

    Example:
        >>> import numpy as np
        >>> import tilec as ct
        >>> @ct.kernel
        ... def double(x, tile: ct.Constant[int]):
        ...     block = (ct.bid(0),)
        ...     ct.store(x, block, ct.load(x, block, (tile,)) * 2)
        >>> x = np.arange(4, dtype=np.float32)
        >>> counters = ct.launch(None, (1,), double, (x, 4))
        >>> x
        array([0., 2., 4., 6.], dtype=float32)
    """
    if not isinstance(kernel, Kernel | LoadedKernel):
        raise UsageError(f"ct.launch expects a function decorated with @ct.kernel, got {type(kernel).__name__}")
    if not isinstance(args, tuple | list):
        raise InputError(f"ct.launch expects the arguments of the kernel as a tuple, got {type(args).__name__}")
    chosen = chosen_backend(backend, args)
    if isinstance(kernel, LoadedKernel):
        if hints:
            raise UsageError(f"kernel '{kernel.name}' is already compiled, so hints have no effect: remove them")
        return run(kernel, grid, args, backend=chosen, stream=stream, **settings)
    compiled = specialized(kernel, chosen, args, hints=hints)
    return run(compiled, grid, args, backend=chosen, stream=stream, **settings)
