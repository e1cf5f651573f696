"""Launches of compiled kernels without Python code between the caller and the driver."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

class KernelDispatch:
    """The specializations of a kernel that were launched."""

    def prepare(self, args: Sequence[Any], /) -> None: ...

class Plan:
    """A loaded specialization, and how its parameters come from the arguments of a launch."""

    def __init__(
        self,
        *,
        function: int,
        context: int,
        ordinal: int,
        block: tuple[int, int, int],
        cluster: tuple[int, int, int],
        grid_counts_clusters: bool,
        cluster_if_divisible: bool,
        shared_bytes: int,
        arguments: Sequence[tuple[str, str, int, list[int], list[int], list[int], list[int]]],
        parameters: Sequence[int],
        maps: Sequence[dict[str, Any]],
        blackwell: bool,
    ) -> None:
        """Raises ValueError if native launches do not support the kernel, for example too many parameters."""

    @property
    def encoded_maps(self) -> int:
        """The number of tensor maps that the driver encoded for native launches."""

class Launcher:
    """A compiled kernel with bound arguments: launcher(stream, grid)."""

    def __init__(self, plan: Plan, contents: tuple[bytes, ...], slow: Callable[[Any, Any], None], /) -> None: ...
    def __call__(self, stream: Any, grid: Sequence[int] | int, /) -> None: ...

def launch(
    stream: Any,
    grid: Sequence[int] | int,
    kernel: KernelDispatch,
    args: Sequence[Any],
    *,
    programmatic_dependent_launch: bool = False,
    backend: str | None = None,
    hints: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Any: ...
def launch_counts() -> dict[str, int]: ...
def reset_launch_counts() -> None: ...
def connect(
    launch: Callable[..., Any],
    describe_kernel: Callable[[Any], Sequence[Any]],
    plan: Callable[[Any, tuple[Any, ...], Sequence[int] | int | None], Plan | None],
    current_stream: Callable[[str, int], int],
    describe_type: Callable[[object], tuple[str, str, str, tuple[tuple[str, Any], ...]]],
    copy_arguments: Callable[[tuple[Any, ...]], tuple[Any, ...]],
    /,
) -> None: ...
