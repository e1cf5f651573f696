// The docstring of `ct.launch`, with its signature.
#pragma once

namespace dispatch {

constexpr char launch_documentation[] = R"(launch($module, /, stream, grid, kernel, args, *,
       programmatic_dependent_launch=False, backend=None, hints=None, **settings)
--

Runs `kernel` on every block of `grid`; the kernel modifies arrays of `args` in place.

The first launch of a specialization compiles and loads it. Later ones are native code: they read the arguments, look up
the specialization, encode tensor maps whose inputs are new, and call the driver, without a wait. `ct.launch_counts`
tells how many launches took this path, and why others did not.

Args:
    stream: the stream of a launch on a GPU: a handle, a stream of torch or cupy, or an object with
        `__cuda_stream__`. None selects the current stream of the arrays' library, or the default stream if the
        library has none.
    grid: one to three numbers of blocks.
    kernel: a function decorated with `@ct.kernel`, which is compiled once for each signature of its arguments, or a
        kernel of a folder that `tilec.load` read.
    args: the arguments in the order of the parameters: arrays, numbers, values of constants.
    programmatic_dependent_launch: whether the kernel may start before the previous kernel of the stream has ended
        (CUDA programming guide, "Programmatic Dependent Launch"); only a launch on a GPU uses it.
    backend: "interpret", "python", "simulate" or "launch"; the default is "python" for `ct.kernel(interpret=True)`,
        else `TILEC_BACKEND`, else "launch" if an array is in device memory, else "simulate" (for `TILEC_TARGET`).
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
)";

} // namespace dispatch
