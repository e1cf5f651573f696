"""Native launches on a GPU: results in streams, graphs and threads, the order of events, and the time of a launch.

The kernel is the vector_add of h200_cases.py, whose arguments are three arrays (a, b, c).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ELEMENTS = 10_000
# Blocks of 1024 elements.
GRID = (10, 1, 1)
THREADS = 4
LAUNCHES_PER_THREAD = 200
# Fewer launches than the queue of a stream has room for, so that none of them waits for the GPU.
TIMED_LAUNCHES = 500
TIMED_ROUNDS = 20


class DeviceArray:
    """An array of f32 in device memory with the content of a numpy array."""

    def __init__(self, content: np.ndarray) -> None:
        from cuda.bindings import driver

        from tilec.runtime.devices.devices import call

        self.shape, self.dtype = content.shape, content.dtype
        self.address = int(call(driver.cuMemAlloc, content.nbytes))
        call(driver.cuMemcpyHtoD, self.address, content.ctypes.data, content.nbytes)
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (self.address, False),
            "shape": content.shape,
            "typestr": content.dtype.str,
        }

    def content(self) -> np.ndarray:
        """The elements, after all work of the GPU."""
        from cuda.bindings import driver

        from tilec.runtime.devices.devices import call

        found = np.empty(self.shape, self.dtype)
        call(driver.cuCtxSynchronize)
        call(driver.cuMemcpyDtoH, found.ctypes.data, self.address, found.nbytes)
        return found


def kernel_of(artifact: Any) -> Any:
    """A kernel that native launches launch, without the compiler."""
    from tilec.runtime.devices.devices import devices
    from tilec.runtime.dispatch._dispatch import KernelDispatch, connect
    from tilec.runtime.launch.launch import launch
    from tilec.runtime.launch.launch_plan import plan

    class Compiled(KernelDispatch):
        parameters = "a", "b", "c"

    connect(
        lambda stream, grid, _kernel, args, **settings: launch(artifact, grid, args, stream, **settings),
        lambda kernel: [(False, False, (), (), (), (), ()) for _ in kernel.parameters],
        lambda _kernel, args, grid: plan(artifact, args, grid),
        lambda _library, _ordinal: 0,
        lambda _value: ("interface", "", "", ()),
        lambda args: args,
        devices,
    )
    return Compiled()


def check_launches(artifact: Any, ordinal: int) -> int:
    """Prints the result of each check; returns 1 if one failed."""
    from tilec.runtime.devices.devices import primary_context

    with primary_context(ordinal):
        kernel = kernel_of(artifact)
        results = [_reported(check, kernel) for check in CHECKS]
        _print_times(kernel, artifact)
    return 0 if all(results) else 1


def _reported(check: Callable[[Any], bool], kernel: Any) -> bool:
    passed = check(kernel)
    print(f"{check.__name__}: {'PASSED' if passed else 'FAILED'}")
    return passed


def described(check: Callable[[Any], bool]) -> str:
    """The name of a check, and what it does."""
    return f"{check.__name__}: {check.__doc__}"


def _arrays() -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """a = 1, b = 0, 1, 2, ... and c = 0."""
    ones, counted = np.ones(ELEMENTS, np.float32), np.arange(ELEMENTS, dtype=np.float32)
    return DeviceArray(ones), DeviceArray(counted), DeviceArray(np.zeros_like(ones))


def _is_sum(array: DeviceArray, ones: int) -> bool:
    return bool(np.array_equal(array.content(), np.arange(ELEMENTS, dtype=np.float32) + ones))


def _launch(stream: Any, kernel: Any, args: tuple[Any, ...], **keywords: Any) -> None:
    from tilec.runtime.dispatch._dispatch import launch

    launch(stream, GRID, kernel, args, **keywords)


@contextmanager
def _stream() -> Iterator[int]:
    from cuda.bindings import driver

    from tilec.runtime.devices.devices import call

    stream = call(driver.cuStreamCreate, driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    try:
        yield int(stream)
    finally:
        driver.cuStreamDestroy(stream)


def streams(kernel: Any) -> bool:
    """Launches in streams given as a handle, an object, the protocol, and by default."""

    class Object:
        def __init__(self, handle: int) -> None:
            self.cuda_stream = handle

    class Protocol:
        def __init__(self, handle: int) -> None:
            self.handle = handle

        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, self.handle

    passed = True
    with _stream() as handle:
        for stream in (0, None, handle, Object(handle), Protocol(handle)):
            a, b, c = _arrays()
            for _ in range(2):
                _launch(stream, kernel, (a, b, c))
            passed = passed and _is_sum(c, 1)
    return passed


def programmatic_launch(kernel: Any) -> bool:
    """Launches that may overlap; the kernel does not read what the previous one writes."""
    a, b, c = _arrays()
    with _stream() as stream:
        for _ in range(4):
            _launch(stream, kernel, (a, b, c), programmatic_dependent_launch=True)
        return _is_sum(c, 1)


def events(kernel: Any) -> bool:
    """A launch in one stream reads the result of a launch in another one, after an event."""
    from cuda.bindings import driver

    from tilec.runtime.devices.devices import call

    a, b, c = _arrays()
    event = call(driver.cuEventCreate, driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
    with _stream() as first, _stream() as second:
        _launch(first, kernel, (a, b, c))
        call(driver.cuEventRecord, event, first)
        call(driver.cuStreamWaitEvent, second, event, 0)
        _launch(second, kernel, (a, c, c))
        return _is_sum(c, 2)


def graph(kernel: Any) -> bool:
    """A captured launch of a prepared kernel, replayed; nothing runs while it is captured."""
    from cuda.bindings import driver

    from tilec.runtime.devices.devices import call

    a, _, c = _arrays()
    counted = DeviceArray(np.arange(ELEMENTS, dtype=np.float32))
    kernel.prepare((a, counted, counted))
    with _stream() as stream:
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
        call(driver.cuStreamBeginCapture, stream, mode)
        _launch(stream, kernel, (a, counted, counted))
        executable = call(driver.cuGraphInstantiate, call(driver.cuStreamEndCapture, stream), 0)
        passed = _is_sum(counted, 0) and not c.content().any()
        for _ in range(3):
            call(driver.cuGraphLaunch, executable, stream)
        return passed and _is_sum(counted, 3)


def threads(kernel: Any) -> bool:
    """Threads, none of which has a context, launch with their own arrays and streams."""
    results: list[bool] = []
    everyones = [_arrays() for _ in range(THREADS)]
    with _stream() as one, _stream() as two:
        workers = [
            threading.Thread(target=partial(_work, kernel, arrays, (one, two)[index % 2]))
            for index, arrays in enumerate(everyones)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        results = [_is_sum(arrays[2], LAUNCHES_PER_THREAD) for arrays in everyones]
    return all(results)


def _work(kernel: Any, arrays: tuple[DeviceArray, DeviceArray, DeviceArray], stream: int) -> None:
    a, b, c = arrays
    _launch(stream, kernel, (a, b, c))
    for _ in range(LAUNCHES_PER_THREAD - 1):
        _launch(stream, kernel, (a, c, c))


CHECKS = (streams, programmatic_launch, events, graph, threads)


def _print_times(kernel: Any, artifact: Any) -> None:
    """Prints the processor time of a launch, of a launcher, and of the Python path, the driver's included."""
    from tilec.runtime.launch.launch import launch
    from tilec.runtime.launch.launch_plan import launcher

    args = _arrays()
    with _stream() as stream:
        bound = launcher(artifact, args)
        rows: dict[str, Callable[[], object]] = {
            "native launch": lambda: _launch(stream, kernel, args),
            "launcher": lambda: bound(stream, GRID),
            "Python path": lambda: launch(artifact, GRID, args, stream),
        }
        for name, step in rows.items():
            print(f"{name}: {1e6 * _seconds(step):.2f} us of processor time per launch")


def _seconds(step: Callable[[], object]) -> float:
    """The least processor time of a step over some rounds, each of which starts with an idle GPU."""
    from cuda.bindings import driver

    from tilec.runtime.devices.devices import call

    found = []
    for _ in range(TIMED_ROUNDS):
        call(driver.cuCtxSynchronize)
        start = time.process_time()
        for _ in range(TIMED_LAUNCHES):
            step()
        found.append((time.process_time() - start) / TIMED_LAUNCHES)
    return min(found)


def run_folder(folder: Path, ordinal: int) -> int:
    """Checks the launches of the artifact `vector_add` in the folder; needs the native module beside it."""
    from tilec.runtime.artifact.artifact import load

    try:
        from tilec.runtime.dispatch import _dispatch  # noqa: F401
    except ImportError as error:
        print(f"native launches: not checked ({error})")
        return 0
    return check_launches(load(folder / "vector_add"), ordinal)
