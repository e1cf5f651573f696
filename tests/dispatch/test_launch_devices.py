"""Devices, streams, captures and errors of native launches."""

from __future__ import annotations

START = """
@ct.kernel
def example(x, y, n: ct.Constant): pass

replace_compiler()
"""
# The null driver takes bits 40 to 43 of an address for its GPU.
SECOND = 1 << 40


def test_arrays_determine_the_device(run_program) -> None:
    program = f"""
for kind in (Interface, Capsule, Exchange):
    for address in (0x10000, 0x10000 + {SECOND}, 0x20000, 0x20000 + {SECOND}):
        args = kind(address, (64, 32)), kind(address + 0x1000, (64, 32)), 8
        launched = [path(0, 1, example, args) for path in (by_native, by_native, by_python)]
        print(hex(launched[0].context), launched[0] == launched[1] == launched[2])
print(ct.launch_counts()["first launch of a specialization"])
"""
    expected = ["0x1000 True", "0x1010 True", "0x1000 True", "0x1010 True"] * 3
    assert run_program(START + program, NULL_DRIVER_DEVICES="2") == [*expected, "2"]


def test_one_gpu_is_not_queried(run_program) -> None:
    program = """
args = Interface(0x10000, (64, 32)), Interface(0x20000, (64, 32)), 8
ct.launch(0, 1, example, args)
before = driver.record_pointer_queries()
for _ in range(10): ct.launch(0, 1, example, args)
print(driver.record_pointer_queries() - before)
"""
    assert run_program(START + program) == ["0"]


def test_arrays_on_two_devices_are_refused(run_program) -> None:
    program = f"""
for _ in range(2):
    print(by_native(0, 1, example, (Interface(0x10000, (64, 32)), Interface({SECOND}, (64, 32)), 8))[1])
"""
    lines = run_program(START + program, NULL_DRIVER_DEVICES="2")
    assert all("the arrays of one launch must be on one device" in line for line in lines)


def test_default_stream_is_the_current_one_of_the_library(run_program) -> None:
    program = """
x = Exchange(0x10000, (64, 32))
Exchange.__module__ = "torch"
import sys, types
sys.modules["torch"] = types.SimpleNamespace(
    cuda=types.SimpleNamespace(current_stream=lambda ordinal: types.SimpleNamespace(cuda_stream=0x50))
)
for _ in range(3): print(hex(by_native(None, 1, example, (x, x, 8)).stream))
print(ct.launch_counts()["native"])
"""
    assert run_program(START + program) == ["0x50", "0x50", "0x50", "2"]


def test_prepared_kernel_is_captured(run_program) -> None:
    # The null driver refuses to load a kernel and to allocate in a capture, unless the thread has the relaxed mode.
    program = """
args = Interface(0x10000, (64, 32)), Interface(0x20000, (64, 32)), 8
example.prepare(args)
driver.record_capture(1)
record([8, 4])
print(by_native(0x20, 1, example, args).stream, ct.launch_counts())
"""
    assert run_program(START + program) == ["32 {'native': 1}"]


def test_backend_of_the_environment_is_read_for_each_launch(run_program) -> None:
    program = """
import os
args = Interface(0x10000, (64, 32)), Interface(0x20000, (64, 32)), 8
for _ in range(2): ct.launch(0, 1, example, args)
os.environ["TILEC_BACKEND"] = "nonsense"
print(by_native(0, 1, example, args)[1])
del os.environ["TILEC_BACKEND"]
ct.launch(0, 1, example, args)
print(ct.launch_counts())
"""
    lines = run_program(START + program)
    assert "unknown backend 'nonsense'" in lines[0]
    assert lines[1] == "{'native': 2, 'first launch of a specialization': 1, 'backend other than launch': 1}"


def test_error_of_the_driver_is_raised(run_program) -> None:
    program = """
args = Interface(0x10000, (64, 32)), Interface(0x20000, (64, 32)), 8
for _ in range(2): ct.launch(0, 1, example, args)
driver.record_launch_status(701)
print(by_native(0, 1, example, args)[1])
"""
    assert "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" in run_program(START + program)[0]
