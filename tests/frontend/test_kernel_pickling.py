"""Kernels are pickled by their module and name, as functions are, and are not copied."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tilec as ct

FILE = """
import pickle, sys
import tilec as ct

@ct.kernel(occupancy=2)
def zeros(x, n: ct.Constant[int]): ct.store(x, (0,), ct.zeros((n,), ct.float32))

class Group:
    @ct.kernel
    def inner(x): ct.store(x, (0,), ct.ones((4,), ct.float32))
"""
READ = """
import pickle, sys
import numpy as np
import tilec as ct

zeros, hinted, inner = pickle.load(sys.stdin.buffer)
x = np.ones(4, np.float32)
ct.launch(None, 1, hinted, (x, 2), backend="interpret")
print(x.tolist(), zeros.hints.occupancy, hinted.hints.occupancy, hinted.hints.num_ctas, inner.__qualname__)
import kernels_of_test
print(zeros is kernels_of_test.zeros, inner is kernels_of_test.Group.inner)
"""


@ct.kernel
def of_module(x):
    ct.store(x, (0,), ct.ones((4,), ct.float32))


def made_in_function() -> ct.Kernel:
    @ct.kernel
    def local(x):
        ct.store(x, (0,), ct.ones((4,), ct.float32))

    return local


def test_copies_are_the_kernel() -> None:
    for kernel in (of_module, of_module.replace_hints(occupancy=2), made_in_function()):
        assert copy.copy(kernel) is copy.deepcopy(kernel) is kernel
    assert copy.deepcopy([of_module])[0] is of_module


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_kernel_is_the_same_in_the_process(protocol: int) -> None:
    assert pickle.loads(pickle.dumps(of_module, protocol)) is of_module


def test_replaced_hints_are_pickled() -> None:
    hints = of_module.replace_hints(num_ctas=ct.ByTarget(sm_100=2, default=1), occupancy=4)
    read = pickle.loads(pickle.dumps(hints))
    assert read.function is of_module.function and str(read.hints) == str(hints.hints)


def test_another_process_imports_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels_of_test.py").write_text(FILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import kernels_of_test  # type: ignore[import-not-found]

    kernels = kernels_of_test.zeros, kernels_of_test.zeros.replace_hints(num_ctas=4), kernels_of_test.Group.inner
    process = subprocess.run(
        [sys.executable, "-c", READ], input=pickle.dumps(kernels), capture_output=True, check=True, cwd=tmp_path
    )
    assert process.stdout.decode().splitlines() == ["[0.0, 0.0, 1.0, 1.0] 2 2 4 Group.inner", "True True"]


def test_kernel_of_a_function_says_what_to_do() -> None:
    message = (
        r"test_kernel_pickling.py:\d+: kernel 'local' cannot be pickled, because another process cannot import "
        r"'made_in_function.<locals>.local' from .*: define it at the top level of a module that is a file"
    )
    with pytest.raises(pickle.PicklingError, match=message):
        pickle.dumps(made_in_function())


def test_kernel_of_a_notebook_says_what_to_do() -> None:
    program = "import tilec as ct\n@ct.kernel\ndef cell(x): pass\nimport pickle; pickle.dumps(cell)"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.stderr.splitlines()[-1].startswith(
        "_pickle.PicklingError: <string>:2: kernel 'cell' cannot be pickled, because another process cannot import "
        "'cell' from '__main__': define it at the top level of a module that is a file"
    )
