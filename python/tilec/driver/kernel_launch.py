"""`ct.launch`: compile a kernel for its arguments, once, and run it over a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilec.diagnostics.user_traceback import public
from tilec.driver.backends import chosen_backend, run
from tilec.driver.specialized import specialized
from tilec.errors import InputError, UsageError
from tilec.language.kernel import Kernel


@public
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
    """Runs `kernel` on every block of `grid`; arrays in `args` are changed in place.

    Args:
        stream: the stream of a launch on a GPU: a handle, or a stream of torch, cupy or `__cuda_stream__`. None is the
            current stream of the arrays' library, and the default stream for other arrays.
        grid: one to three numbers of blocks.
        kernel: a function decorated with `@ct.kernel`. It is compiled once for each signature its arguments have.
        args: the arguments in the order of the parameters: arrays, numbers, values of constants.
        backend: "interpret", "simulate" or "launch"; by default `TILEC_BACKEND`, else "launch" if an array lies on a
            device, else "simulate" (for `TILEC_TARGET`).
        hints: options of tilec.compile_options by name; they take precedence over those of the kernel.
        settings: those of the backend, see tilec.run.

    Returns:
        The simulator's counters by name, None from the other backends.

    Raises:
        CompileError: the kernel breaks a rule, at the user's line.
        InputError: the arguments do not fit.
        SimulationError: the kernel does what the simulator or the interpreter reports.
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
    if not isinstance(kernel, Kernel):
        raise UsageError(f"ct.launch takes a function decorated with @ct.kernel, got {type(kernel).__name__}")
    if not isinstance(args, tuple | list):
        raise InputError(f"ct.launch takes the kernel's arguments as a tuple, got {type(args).__name__}")
    chosen = chosen_backend(backend, args)
    compiled = specialized(kernel, chosen, args, hints=hints)
    return run(compiled, grid, args, backend=chosen, stream=stream, **settings)
