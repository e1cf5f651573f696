"""An executor of `concurrent.futures` whose workers are new Python processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

from tilec.errors import InternalError

T = TypeVar("T")


class WorkerProcesses(Executor):
    """Calls functions in `count` processes, each of which starts with its first call.

    In contrast to ProcessPoolExecutor, the processes do not import the main module of the program, which therefore
    needs no guard, and a process that ends abnormally fails only the call that it executes.
    """

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="tilec-worker")
        self._of_thread = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """The future of `fn(*args, **kwargs)`; the function, its arguments and its result are pickled."""
        return self._threads.submit(self._call, pickle.dumps((fn, args, kwargs)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the processes after their calls."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for process in self._processes:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            if wait:
                process.wait()
                process.stdout.close()

    def kill(self) -> None:
        """Ends the processes immediately; their calls fail."""
        for process in self._processes:
            process.kill()

    def _call(self, message: bytes) -> Any:
        process = self._process()
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(message, process.stdin)
            process.stdin.flush()
            succeeded, value = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self._of_thread.process = None
            raise InternalError(f"a worker process ended with status {process.wait()}") from None
        if succeeded:
            return value
        raise value

    def _process(self) -> subprocess.Popen[bytes]:
        """The process of the calling thread."""
        process = getattr(self._of_thread, "process", None)
        if process is None:
            command = [sys.executable, "-m", "tilec.process.worker"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert process.stdin is not None
            pickle.dump(sys.path, process.stdin)
            self._of_thread.process = process
            self._processes.append(process)
        return process
