"""Dependencies between a grid and the grid launched before it on the same stream."""

from __future__ import annotations

from tilec.language.kernel_function import kernel_function


@kernel_function
def grid_dependency_control_wait() -> None:
    """Waits until the preceding grid is complete and its writes are visible (PTX ISA: griddepcontrol.wait).

    A launch with `programmatic_dependent_launch=True` may start before the preceding grid of the stream is complete:
    only accesses after this call see its writes. Without a preceding grid, or in other launches, it returns at once.
    Accesses before the call may complete after it.

    Raises:
        TileTypeError: an argument is given.

    Example:
        >>> @ct.kernel
        ... def example(x, y):
        ...     ct.grid_dependency_control_wait()
        ...     ct.store(y, 0, ct.load(x, 0, 4))
        >>> y = np.zeros(4, np.int32)
        >>> ct.launch(None, 1, example, (np.arange(4, dtype=np.int32), y), backend="interpret")
        >>> y
        array([0, 1, 2, 3], dtype=int32)
    """


@kernel_function
def grid_dependency_control_launch_dependents() -> None:
    """Lets the dependent grid start once every block has made this call or ended.

    PTX ISA: griddepcontrol.launch_dependents.

    The dependent grid is the next one of the stream, launched with `programmatic_dependent_launch=True`. It sees the
    writes of this grid only after its own `grid_dependency_control_wait`, so that the call orders no access.

    Raises:
        TileTypeError: an argument is given.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     ct.grid_dependency_control_launch_dependents()
        ...     ct.store(x, 0, ct.ones(4, ct.int32))
        >>> x = np.zeros(4, np.int32)
        >>> ct.launch(None, 1, example, (x,), backend="interpret")
        >>> x
        array([1, 1, 1, 1], dtype=int32)
    """
