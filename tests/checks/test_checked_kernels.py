"""Checked builds of Python kernels: the line of an undefined operation, results of defined ones, keys of caches."""

from __future__ import annotations

from inspect import getsourcelines
from pathlib import Path
from typing import Any

import checked_kernels as kernels
import numpy as np
import pytest

import tilec as ct
from tilec.compile_options import CompileOptions
from tilec.driver.disk_cache import Request, _key
from tilec.errors import SimulationError, UsageError
from tilec.signature import Signature

SEEDS = range(4)
X = np.arange(1, 97, dtype=np.float32)
INDICES = np.array([0, 5, 95, 3], np.int32)


def with_last(index: int) -> np.ndarray:
    return np.array([0, 5, 2, index], np.int32)


def zeros(count: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(count, dtype)


NOT_POSITIVE = "a for loop needs a positive step"
NOT_INSIDE = "index 0 must be at least 0 and below the extent of the array, as check_bounds=False promises"
# A kernel, arguments for which it is defined, arguments for which it is not, and the message.
CASES = [
    (kernels.total, (X, zeros(1), 0, 96, 8), (X, zeros(1), 88, -1, -8), NOT_POSITIVE),
    (kernels.total, (X, zeros(1), 0, 96, 1), (X, zeros(1), 0, 96, 0), NOT_POSITIVE),
    (kernels.total_below_1000, (X, zeros(1), 0, 96, 8), (X, zeros(1), 88, -1, -8), NOT_POSITIVE),
    (kernels.gathered, (X, INDICES, zeros(4), 4), (X, with_last(96), zeros(4), 4), NOT_INSIDE),
    (kernels.gathered, (X, INDICES, zeros(4), 4), (X, with_last(-1), zeros(4), 4), NOT_INSIDE),
    (kernels.gathered_below, (X, with_last(500), zeros(4), 500, 4), (X, with_last(96), zeros(4), 97, 4), NOT_INSIDE),
    (kernels.scattered, (INDICES, zeros(96), 4), (with_last(96), zeros(96), 4), NOT_INSIDE),
    (kernels.counted, (INDICES, zeros(96), 4), (with_last(96), zeros(96), 4), NOT_INSIDE),
    (kernels.loaded, (X, zeros(32), 2, 32), (X[:80], zeros(32), 2, 32), "index 0 is marked as within bounds"),
    (
        kernels.divided,
        (np.full(16, 7, np.int32), zeros(16, np.int32), 2, 16),
        (np.full(16, 7, np.int32), zeros(16, np.int32), 0, 16),
        "division by zero is undefined",
    ),
    (kernels.extracted, (X, zeros(16), 1, 16), (X, zeros(16), 2, 16), "dimension 0 has 2 sub-tiles of 16"),
]


def copies(args: tuple[Any, ...]) -> list[Any]:
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


def compiled(kernel: Any, args: tuple[Any, ...], target: str, **settings: Any) -> ct.Compiled:
    signature = Signature.from_arguments(kernel, args)
    return ct.compile(kernel, signature=signature, target=target, stop="ptx", **settings)


def checked_line(kernel: Any) -> int:
    lines, first = getsourcelines(kernel.function)
    return first + next(number for number, line in enumerate(lines) if line.rstrip().endswith("# checked"))


@pytest.mark.parametrize(("kernel", "good", "bad", "message"), CASES, ids=lambda value: getattr(value, "name", ""))
def test_line_of_an_undefined_operation(kernel: Any, good: Any, bad: Any, message: str, target: str) -> None:
    program = compiled(kernel, bad, target, checks=True)
    for seed in SEEDS:
        with pytest.raises(SimulationError) as raised:
            ct.run(program, 1, copies(bad), backend="simulate", seed=seed)
        assert raised.value.message == f"assertion failed: {message}"
        assert raised.value.location is not None and raised.value.location.line == checked_line(kernel)
    with pytest.raises(SimulationError) as raised:
        ct.run(kernel, 1, copies(bad), backend="interpret", check=True)
    assert message in raised.value.message and raised.value.location.line == checked_line(kernel)
    results = []
    for checks in (True, False):
        arguments = copies(good)
        ct.run(compiled(kernel, good, target, checks=checks), 1, arguments, backend="simulate")
        results.append(arguments)
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def small_integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-3, 4, shape).astype(np.float16)


def assert_stops_in_the_loop(kernel: Any, args: list[Any], grid: Any, target: str, count: str) -> ct.Compiled:
    """The last of the iterations that `count` names accesses a tile that does not exist."""
    program = compiled(kernel, tuple(args), target, checks=True)
    assert "cp.async.bulk.tensor" in program.ptx
    for seed in SEEDS:
        with pytest.raises(SimulationError) as raised:
            ct.run(program, grid, copies(tuple(args)), backend="simulate", seed=seed)
        assert raised.value.message.startswith(f"assertion failed: {count} of the view must be at least 0 and below")
        assert raised.value.location is not None and raised.value.location.line == checked_line(kernel)
    return program


def test_pipelined_multiply(target: str) -> None:
    a, b = small_integers(128, 192), small_integers(192, 128)
    c = np.zeros((128, 128), np.float32)
    program = assert_stops_in_the_loop(kernels.product, [a, b, c, 4, 128, 128, 64], 1, target, "index 1")
    for seed in SEEDS:
        ct.run(program, 1, [a, b, c, 3, 128, 128, 64], backend="simulate", seed=seed)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_attention(target: str) -> None:
    random = np.random.default_rng(7)
    q, k, v = (random.standard_normal((rows, 64), np.float32).astype(np.float16) for rows in (128, 192, 192))
    out = np.zeros((128, 64), np.float32)
    program = assert_stops_in_the_loop(kernels.attention, [q, k, v, out, 4, 128, 64, 64], 1, target, "index 0")
    s = q.astype(np.float64) @ k.astype(np.float64).T
    p = np.exp(s - s.max(axis=1, keepdims=True))
    exact = p @ v.astype(np.float64) / p.sum(axis=1, keepdims=True)
    for seed in SEEDS:
        ct.run(program, 1, [q, k, v, out, 3, 128, 64, 64], backend="simulate", seed=seed)
        # p is rounded to float16, and its sum is at least 1.
        assert np.abs(out - exact).max() < 2.0**-9 * np.abs(v.astype(np.float64)).max()


def test_assertions_leave_attention_its_schedule(target: str) -> None:
    """Multiplies, and the steps on channels around them, are in other iterations than the assertions of the loads."""
    rows = (np.zeros((count, 64), np.float16) for count in (128, 192, 192))
    arguments = (*rows, np.zeros((128, 64), np.float32), 3, 128, 64, 64)
    signature = Signature.from_arguments(kernels.attention, arguments)
    stage = ct.compile(kernels.attention, target=target, signature=signature, checks=True, stop="gpu").stage("gpu")
    assert "tile_gpu.iterations_ahead" in stage.text and "tile_gpu.assert" in stage.text


def test_convolution(target: str) -> None:
    x, f = small_integers(1, 128, 64), small_integers(3, 64, 64)
    y = np.zeros((1, 128, 64), np.float32)
    arguments = [x, f, y, 4, 128, 64, 64]
    program = assert_stops_in_the_loop(kernels.convolution, arguments, 1, target, "offset 0")
    ct.run(program, 1, [x, f, y, 3, 128, 64, 64], backend="simulate")
    padded = np.pad(x[0].astype(np.float32), ((1, 1), (0, 0)))
    assert np.array_equal(y[0], sum(padded[s : s + 128] @ f[s].astype(np.float32) for s in range(3)))


def test_ptxas_accepts_checked_kernels(target: str) -> None:
    a, c = np.zeros((128, 128), np.float16), np.zeros((128, 128), np.float32)
    for kernel, args in ((kernels.product, (a, a, c, 2, 128, 128, 64)), (kernels.total, (X, zeros(1), 0, 96, 8))):
        program = ct.compile(kernel, signature=Signature.from_arguments(kernel, args), target=target, checks=True)
        assert program.stage("cubin").value.spill_bytes == 0


def test_checked_kernels_are_compiled_and_kept_apart(target: str) -> None:
    args = (X, zeros(1), 88, -1, -8)
    kernel = ct.kernel(kernels.total.function)
    for hints in ({"checks": True}, {}, {"checks": True}):
        if hints:
            with pytest.raises(SimulationError, match=NOT_POSITIVE):
                ct.launch(None, 1, kernel, copies(args), backend="simulate", hints=hints)
        else:
            ct.launch(None, 1, kernel, copies(args), backend="simulate")
    assert len(kernel.compiled) == 2
    signature = Signature.from_arguments(kernel, args)
    options = [CompileOptions.of({"checks": checks}) for checks in (True, False)]
    checked, plain, default = (
        _key(Request(kernel, signature, target, option, "ptx")) for option in (*options, CompileOptions())
    )
    assert checked != plain == default


def test_a_build_without_checks_is_the_default(target: str) -> None:
    for kernel, args, *_ in CASES[:5]:
        assert compiled(kernel, args, target).ptx == compiled(kernel, args, target, checks=False).ptx


def test_checks_need_tile_ir(tmp_path: Path) -> None:
    """The text of stage tile-opt is Tile IR too."""
    kernel, args, *_ = CASES[0]
    stages = compiled(kernel, args, "sm_90a").stages
    for stage in stages[2:]:
        file = stage.save(tmp_path / "total")
        with pytest.raises(UsageError, match=f"is at stage '{stage.name}': checks are inserted into Tile IR"):
            ct.compile(str(file), checks=True, stop="ptx")
    assert "__assertfail" in ct.compile(str(stages[0].save(tmp_path / "total")), checks=True, stop="ptx").ptx
