"""Launchers: compiled kernels with bound arguments."""

from __future__ import annotations

START = """
import numpy as np
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.launch.launch_plan import launcher

@ct.kernel
def example(x, scale, n: ct.Constant): pass

replace_compiler()

def artifact(args):
    return Artifact(metadata_of(Signature.from_arguments(example, args)), cubin=b"\\x7fELF")

args = Interface(0x10000, (64, 32)), 1.5, 8
expected = by_python(0x70, (4, 2), example, args)
"""


def test_launch_equals_that_of_the_arguments(run_program) -> None:
    program = """
bound = launcher(artifact(args), args)
for _ in range(2): bound(0x70, (4, 2))
found = last(sizes_of(metadata_of(Signature.from_arguments(example, args))))
print(found.parameters == expected.parameters, found.grid == expected.grid, found.stream == expected.stream)
print(ct.launch_counts()["native"])
"""
    assert run_program(START + program) == ["True True True", "2"]


def test_unusual_calls_take_the_python_path(run_program) -> None:
    program = """
bound = launcher(artifact(args), args)
before = launches()
bound(None, 4)
bound(0, 0)
for grid in (-1, "grid"):
    try: bound(0, grid)
    except ct.TileError as error: print(error.message.partition(",")[0])
print(launches() - before)
"""
    assert run_program(START + program) == ["the grid needs one to three integers of at least 0"] * 2 + ["1"]


def test_arguments_are_kept_alive(run_program) -> None:
    program = """
import gc, weakref
x = Interface(0x10000, (64, 32))
bound = launcher(artifact((x, 1.5, 8)), (x, 1.5, 8))
reference = weakref.ref(x)
del x
gc.collect()
print(reference() is not None)
del bound
gc.collect()
print(reference())
"""
    assert run_program(START + program) == ["True", "None"]


def test_host_arrays_are_refused(run_program) -> None:
    program = """
host = np.zeros((64, 32), np.float32), 1.5, 8
try: launcher(artifact(host), host)
except ct.TileError as error: print(error.message)
"""
    assert run_program(START + program) == ["a launcher needs arrays in device memory: pass host arrays to ct.launch"]


def test_arguments_that_only_launches_copy_are_refused(run_program) -> None:
    program = """
from tilec.runtime.launch import launch_plan
from tilec.runtime.dispatch._dispatch import Launcher

@ct.kernel
def of_list(arrays): pass

@ct.kernel
def of_arrays(arrays): pass

def attempt(kernel, args):
    signature = Signature.from_arguments(kernel, args)
    try: launcher(Artifact(metadata_of(signature), cubin=b"\\x7fELF"), args)
    except ct.TileError as error: print(type(error).__name__, error.message)

attempt(of_list, ([args[0]],))
attempt(of_arrays, (tuple(Interface(0x10000 * n, (64, 32)) for n in range(1, 130)),))
attempt(example, (Interface(0, (0, 32)), 1.5, 8))
plan = launch_plan._plan(artifact(args), launch_plan.device_for("sm_100a", 0))
try: Launcher(plan, ("text",), print)
except TypeError as error: print(type(error).__name__, error)
"""
    assert run_program(START + program) == [
        "UsageError a launcher cannot bind lists of arrays, whose tables each launch copies: use ct.launch",
        "UsageError kernel 'entry' has too many parameters for a launcher: use ct.launch",
        "InputError a launcher needs arrays with elements: pass empty arrays to ct.launch",
        "TypeError expected the bytes of parameters",
    ]
