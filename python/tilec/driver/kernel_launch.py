"""`ct.launch`: compiles a kernel once per signature of its arguments, and runs it over a grid.

`launch` is native code (runtime/dispatch), which calls the functions of this module for a first launch and for
everything unusual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilec.diagnostics.user_traceback import public
from tilec.driver.argument_forms import copy_arguments, form_of_type, parameter_rules
from tilec.driver.backends import chosen_backend, is_loaded_kernel, run
from tilec.driver.specialized import specialized
from tilec.errors import LaunchUseError, UsageError
from tilec.language.kernel import Kernel
from tilec.runtime.devices.streams import current_stream_of
from tilec.runtime.dispatch._dispatch import Plan, connect, launch
from tilec.runtime.dispatch._dispatch import launch_counts as _launch_counts

if TYPE_CHECKING:
    from tilec.runtime.artifact.kernel_folder import LoadedKernel

__all__ = ["launch", "launch_counts"]


def launch_counts() -> dict[str, int]:
    """How many launches took the native path, and how many took the Python path for each reason.

    Reasons that repeat for one program are worth a change of its arguments: the native path costs less than a
    microsecond, the Python path more than a hundred.

    Returns:
        Counts of this process: `native`, and each reason of the Python path that occurred.

    Raises:
        Nothing.

    Example:
        >>> @ct.kernel
        ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
        >>> before = ct.launch_counts().get("argument of type numpy.ndarray", 0)
        >>> counters = ct.launch(None, 1, example, (np.zeros(4, np.int32),))
        >>> ct.launch_counts()["argument of type numpy.ndarray"] - before
        1
    """
    return _launch_counts()


# Stands for an argument that the caller left out.
_MISSING: Any = object()
_FORM = "ct.launch(stream, grid, kernel, args)"


@public
def _launch(
    stream: Any = _MISSING,
    grid: Sequence[int] | int = _MISSING,
    kernel: Kernel | LoadedKernel = _MISSING,
    args: Sequence[Any] = _MISSING,
    *further: Any,
    programmatic_dependent_launch: bool = False,
    backend: str | None = None,
    hints: Mapping[str, Any] | None = None,
    target: str | None = None,
    **settings: Any,
) -> Any:
    """The Python path of `launch`."""
    given = (stream, grid, kernel, args)
    if further or any(value is _MISSING for value in given):
        raise _wrong_count([value for value in (*given, *further) if value is not _MISSING])
    if not isinstance(kernel, Kernel) and not is_loaded_kernel(kernel):
        found = type(kernel).__name__
        raise LaunchUseError(f"ct.launch expects a function decorated with @ct.kernel, got {found}: call {_FORM}")
    if not isinstance(args, tuple | list):
        raise LaunchUseError(f"ct.launch expects the arguments of the kernel as a tuple, got {type(args).__name__}")
    chosen = chosen_backend(backend, args, kernel)
    if chosen == "python":
        return run(kernel, grid, args, backend=chosen, **settings)
    if chosen == "launch":
        settings["programmatic_dependent_launch"] = programmatic_dependent_launch
    if not isinstance(kernel, Kernel):
        if hints:
            raise UsageError(f"kernel '{kernel.name}' is already compiled, so hints have no effect: remove them")
        return run(kernel, grid, args, backend=chosen, target=target, stream=stream, **settings)
    if settings.get("check"):
        hints = {**(hints or {}), "checks": True}
    compiled = specialized(kernel, chosen, args, target=target, hints=hints)
    return run(compiled, grid, args, backend=chosen, stream=stream, **settings)


def _wrong_count(given: Sequence[Any]) -> LaunchUseError:
    """The error for a call with too few or too many arguments."""
    if len(given) > 4:
        advice = "pass the arguments of the kernel as one tuple"
    elif len(given) == 3 and (isinstance(given[1], Kernel) or is_loaded_kernel(given[1])):
        advice = "the stream is missing, pass None for the current stream"
    else:
        advice = "pass None for the current stream, and the arguments of the kernel as one tuple"
    return LaunchUseError(f"{_FORM} takes 4 arguments, got {len(given)}: {advice}")


@public
def _plan(kernel: Kernel, args: tuple[Any, ...], grid: Sequence[int] | int | None) -> Plan | None:
    """The plan of native launches with arguments like these, for which the kernel is compiled and loaded.

    None for a kernel that Python executes.
    """
    if kernel.interpret:
        return None
    # Imported here because it loads the bindings of the CUDA driver.
    from tilec.runtime.launch.launch_plan import plan

    return plan(specialized(kernel, "launch", args).artifact, args, grid)


def _connect_driver() -> None:
    """Loads the driver, if this machine has one, and connects native launches with it."""
    # Imported here because it loads the bindings of the CUDA driver.
    from tilec.runtime.devices.devices import devices

    devices()


# The documentation finds public names by their module.
launch.__module__ = __name__
connect(_launch, parameter_rules, _plan, current_stream_of, form_of_type, copy_arguments, _connect_driver)
