"""The driver by NVIDIA's bindings: when they are loaded, the functions of native code, and drivers that lack some."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., list[str]]
# A process that waits for a lock which nothing releases would not end.
TIMEOUT_S = 120


def printed(program: str, **settings: str) -> list[str]:
    """The lines that a program prints in a process of its own."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **settings}
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT_S)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return process.stdout.splitlines()


@pytest.fixture
def recorded(recording_driver: Path) -> Run:
    """The lines that the recording driver and a program print."""
    return lambda program, **settings: printed(program, LD_LIBRARY_PATH=str(recording_driver), **settings)


KERNEL = """
import sys
import numpy as np
import tilec as ct

@ct.kernel
def double(x, tile: ct.Constant[int]):
    ct.store(x, 0, ct.load(x, 0, tile) * 2)

x = np.ones(4, np.float32)
"""


@pytest.mark.parametrize(
    "program",
    [
        "ct.launch(None, 1, double, (x, 4))",
        "ct.run(double, 1, (x, 4), backend='interpret')",
        "ct.compile(double, signature='x: f32[4], tile=4', stop='ptx')",
    ],
    ids=["simulate", "interpret", "compile to PTX"],
)
def test_bindings_of_the_driver_are_loaded_for_launches_only(tmp_path: Path, program: str) -> None:
    program = f"{KERNEL}{program}\nprint('cuda.bindings.driver' in sys.modules)"
    file = tmp_path / "program.py"
    file.write_text(program)
    assert printed(f"import runpy; runpy.run_path({str(file)!r})") == ["False"]


def test_driver_is_started_beside_the_compile(tmp_path: Path, recording_driver: Path) -> None:
    # The compile waits until the driver is started, which would not end if the same thread started both.
    file = tmp_path / "program.py"
    file.write_text(f"""{KERNEL}
import threading
from tilec.driver import specialized
from tilec.runtime.devices import devices
compile, started = specialized._compile, threading.Event()
connect = devices.connect_driver
def connected(*given):
    connect(*given)
    print("connected in the main thread:", threading.current_thread() is threading.main_thread())
    started.set()
def compile_later(*given):
    print("started:", started.wait(60))
    return compile(*given)
devices.connect_driver, specialized._compile = connected, compile_later
ct.launch(None, 1, double, (x, 4), backend="launch")
""")
    settings = {"LD_LIBRARY_PATH": str(recording_driver), "RECORDED_ONLY": "1", "TILEC_TARGET": "sm_90a"}
    lines = printed(f"import runpy; runpy.run_path({str(file)!r})", **settings)
    assert lines[:2] == ["connected in the main thread: False", "started: True"]
    assert "launch grid 1,1,1 block 128,1,1 shared 0 stream (nil)" in lines


def test_threads_see_the_same_devices(recorded: Run) -> None:
    program = """
import threading
from tilec.runtime.devices.devices import devices, start_driver
found, barrier = [], threading.Barrier(8)
def ask():
    barrier.wait()
    start_driver()
    found.append(devices())
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), set(found))
"""
    assert recorded(program) == ["8 {(Device(ordinal=0, name='recording driver', capability=(9, 0)),)}"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_fork_waits_until_the_driver_is_started(recorded: Run) -> None:
    program = """
import os, warnings
from tilec.runtime.devices.devices import devices, start_driver
warnings.simplefilter("ignore", DeprecationWarning)  # numpy may have threads
start_driver()
child = os.fork()
if not child:
    os._exit(len(devices()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert recorded(program) == ["1"]


def test_functions_of_native_code_have_the_form_that_the_bindings_look_up(recorded: Run) -> None:
    # The bindings contain the versions of cudaTypedefs.h.
    program = """
from tilec.runtime.devices.devices import devices, driver
driver().cuInit(0)
print("the bindings are ready")
devices()
"""
    lines = recorded(program, RECORDED_SYMBOLS="1")
    end = lines.index("the bindings are ready")
    by_bindings, by_tilec = lines[:end], lines[end + 1 :]
    assert {"cuLaunchKernelEx of 11060", "cuTensorMapEncodeIm2colWide of 12080"} < set(by_tilec) < set(by_bindings)


LAUNCHES = """
import numpy as np
from tilec.errors import TilecError
from tilec.runtime.devices.devices import device_for, devices, ordinal_of
print(devices())
for ask in (lambda: device_for("sm_90a"), lambda: ordinal_of(0x1000)):
    try: print(ask())
    except TilecError as error: print(error)
"""
WITHOUT_DRIVER = [
    "()",
    "error: kernels of sm_90a need a GPU of that architecture, found none",
    "error: an argument is a device array, but this machine has no GPU",
]


def test_machine_without_a_driver(tmp_path: Path) -> None:
    # A library that is not one of a driver hides that of the machine.
    (tmp_path / "libcuda.so.1").write_bytes(b"")
    assert printed(LAUNCHES, LD_LIBRARY_PATH=str(tmp_path)) == WITHOUT_DRIVER


@pytest.mark.parametrize("error", ["ModuleNotFoundError", "ImportError"])
def test_installation_without_the_bindings(recorded: Run, error: str) -> None:
    program = f"""
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "cuda.bindings.driver":
            raise {error}(name)
sys.meta_path.insert(0, Missing())
"""
    assert recorded(program + LAUNCHES) == WITHOUT_DRIVER


def test_driver_before_cuda_12_counts_as_none(recording_driver: Path, tmp_path: Path) -> None:
    # Its cuGetProcAddress has no second version.
    content = (recording_driver / "libcuda.so.1").read_bytes()
    (tmp_path / "libcuda.so.1").write_bytes(content.replace(b"cuGetProcAddress_v2", b"cuGetProcAddress_v1"))
    assert printed(LAUNCHES, LD_LIBRARY_PATH=str(tmp_path)) == WITHOUT_DRIVER


def test_oldest_driver_has_all_functions_of_a_launch(recorded: Run) -> None:
    program = """
from tilec.runtime.devices.devices import devices, entry_points
print(devices(), [name for name, address in entry_points().items() if not address])
"""
    expected = "(Device(ordinal=0, name='recording driver', capability=(9, 0)),) ['cuTensorMapEncodeIm2colWide']"
    assert recorded(program, RECORDED_VERSION="12000") == [expected]


CALL = """
from tilec.errors import LaunchError
from tilec.runtime.devices.devices import call, devices, driver
devices()
try: print(call(driver().FUNCTION, INPUTS))
except LaunchError as error: print(error)
"""


@pytest.mark.parametrize(
    ("function", "inputs", "settings", "message"),
    [
        (
            "cuStreamSynchronize",
            "0",
            {"RECORDED_WITHOUT": "cuStreamSynchronize"},
            "the CUDA driver has no cuStreamSynchronize: install a driver of CUDA 12.0 or later",
        ),
        (
            "cuEventElapsedTime",
            "0, 0",
            {"RECORDED_VERSION": "12000"},
            "the CUDA driver has no cuEventElapsedTime: install a driver of CUDA 12.8 or later",
        ),
        ("cuStreamSynchronize", "0", {"RECORDED_STATUS": "500"}, "the CUDA driver reports CUDA_ERROR_NOT_FOUND"),
        (
            "cuStreamSynchronize",
            "0",
            {"RECORDED_STATUS": "12345"},
            "the CUDA driver reports an unknown error (12345 is not a valid CUresult): install a later cuda-bindings",
        ),
    ],
)
def test_failed_calls_say_what_to_do(
    recorded: Run, function: str, inputs: str, settings: dict[str, str], message: str
) -> None:
    program = CALL.replace("FUNCTION", function).replace("INPUTS", inputs)
    assert recorded(program, **settings)[-1] == f"error: {message}"


def test_tensor_maps_of_a_wrong_rank_are_not_encoded() -> None:
    from tilec.runtime.dispatch._dispatch import encode_tensor_map

    with pytest.raises(ValueError, match="one to five extents and one stride less"):
        encode_tensor_map({}, base=0x1000, extents=[4, 4], strides=[], blackwell=False)
