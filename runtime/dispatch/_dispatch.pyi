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
    connect_driver: Callable[[], None],
    /,
) -> None: ...
def driver_functions() -> dict[str, int]:
    """The functions of the CUDA driver that native code calls, with the CUDA version of each form, such as 12080."""

def connect_driver(device_count: int, addresses: Mapping[str, int]) -> None:
    """Takes the addresses of these functions, 0 for one that the driver lacks; once per process."""

def encode_tensor_map(
    fields: Mapping[str, Any], *, base: int, extents: Sequence[int], strides: Sequence[int], blackwell: bool
) -> tuple[int, bytes]:
    """The status of the driver, -1 if it lacks the function, and the encoded map. Raises ValueError for a wrong rank.

    `fields` are those of tilec.runtime.tensor_maps.driver_tensor_map.constant_fields. Maps for Blackwell lack the bit
    that makes small maps fault.
    """
