"""`ct.kernel(interpret=True)` executes the Python function, with the results of the interpreter of Tile IR."""

from __future__ import annotations

import importlib
import pdb
import sys
import threading
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec as ct

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "kernels"))

import programs
import stepped_kernels

ROOT = Path(__file__).parents[3]
# The tests replace ct.launch in examples.
LAUNCH = ct.launch


def outcome(kernel: Any, grid: Any, args: Sequence[Any], backend: str) -> tuple[list[Any], str]:
    """The arguments after the launch, and what the kernel printed."""
    given = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    printed = StringIO()
    before, sys.stdout = sys.stdout, printed
    try:
        LAUNCH(None, grid, kernel, given, backend=backend)
    finally:
        sys.stdout = before
    return given, printed.getvalue()


def assert_same(kernel: Any, grid: Any, args: Sequence[Any]) -> list[Any]:
    """Both executions yield the same bits and the same prints; returns the arguments."""
    (interpreted, printed), (executed, shown) = (outcome(kernel, grid, args, b) for b in ("interpret", "python"))
    for expected, found in zip(interpreted, executed, strict=True):
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))
    assert shown == printed
    return executed


@pytest.mark.parametrize("kernel", stepped_kernels.KERNELS, ids=lambda kernel: kernel.name)
def test_semantics_of_kernels(kernel: Any) -> None:
    assert_same(kernel, 1, (np.arange(7, 15, dtype=np.float32), np.zeros(8, np.float32)))


EXAMPLES: dict[str, Callable[[Any], bool]] = {
    "convolution": lambda module: module.run(module.convolution_kernel, 2),
    "convolution_gradients": lambda module: module.run(2),
    "depthwise": lambda module: module.images() and module.sequences(),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_convolution(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example compares with float64, this test with the interpreter."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    # A benchmark has the name of an example.
    monkeypatch.delitem(sys.modules, name, raising=False)
    module = importlib.import_module(name)

    def both(_stream: object, grid: Any, kernel: Any, args: Sequence[Any]) -> None:
        for given, found in zip(args, assert_same(kernel, grid, args), strict=True):
            if isinstance(given, np.ndarray):
                given[...] = found

    monkeypatch.setattr(module.ct, "launch", both)
    assert EXAMPLES[name](module)


def test_examples_of_matrices_and_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    random = np.random.default_rng(1)
    a, b = random.standard_normal((2, 40, 40), np.float32).astype(np.float16)
    product = np.zeros((40, 40), np.float16)
    (add, softmax, multiply) = (importlib.import_module(name) for name in ("vector_add", "softmax", "matmul"))
    args = (a, b, product, 32, 32, 16, False, False)
    found = assert_same(multiply.matmul_kernel, 4, args)[2]
    np.testing.assert_allclose(found.astype(np.float32), a.astype(np.float32) @ b.astype(np.float32), atol=0.05)
    assert_same(add.vector_add, 3, (a[0], b[0], product[0], 16))
    assert_same(softmax.softmax_kernel, 3, (a.astype(np.float32), np.zeros((40, 40), np.float32), 64))


PROGRAMS = {
    "strided": ((2, 2), [(20, 20)], [(16, 16)], (8, 8, 12, 4)),
    "softmax": (2, [(5, 16)], [(5, 16)], (4, 16)),
    "sums": (1, [(8, 8)], [(8,), (8,)], (8, 8)),
    "attention": (2, [(20, 16), (24, 16), (24, 16)], [(20, 16)], (0.25, 16, 8, 16)),
    "in_place": (1, [(8, 8)], [], (8, 8)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    grid, inputs, outputs, constants = PROGRAMS[name]
    random = np.random.default_rng(2)
    given = [random.standard_normal(shape).astype(np.float32) for shape in inputs]
    results = [np.zeros(shape, np.float32) for shape in outputs]
    assert_same(getattr(programs, name), grid, (*given, *results, *constants))


def test_every_function_of_the_language_is_evaluated_by_the_front_end() -> None:
    """A call reaches the operation's rule, for names that no other test of this file uses."""
    x, y = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)

    @ct.kernel(interpret=True)
    def kernel(x, y):
        rows = ct.arange(16, dtype=ct.int32)
        found = ct.gather(x, 15 - rows)
        ct.atomic_add(y, rows, ct.bitwise_xor(found, 5))
        ct.assert_(ct.num_blocks(0) == 2, "two blocks")
        ct.printf("%d of %d\n", ct.bid(0), ct.num_blocks(0))

    shown: list[str] = []
    ct.launch(None, 2, kernel, (x, y), print=shown.append)
    np.testing.assert_array_equal(y, 2 * (x[::-1] ^ 5))
    assert "".join(shown) == "0 of 2\n1 of 2\n"


def stepped(function: Callable[..., None], commands: str) -> str:
    """What pdb prints while a kernel stops at its `debugger()`."""
    output = StringIO()
    debugger = pdb.Pdb(stdin=StringIO(commands), stdout=output, nosigint=True, readrc=False)
    namespace = function.__globals__
    namespace["debugger"] = debugger.set_trace
    before = sys.gettrace()
    try:
        args = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
        ct.launch(None, 2, ct.kernel(interpret=True)(function), args)
    finally:
        sys.settrace(before)
        del namespace["debugger"]
    return output.getvalue()


def doubled(tile):
    twice = tile * 2
    return twice


def stopped(x, y):
    tile = ct.load(x, 0, 4)
    if ct.bid(0) == 1:
        debugger()  # noqa: F821  (the test defines it)
    tile = doubled(tile)
    ct.store(y, 0, tile)


def test_debugger_shows_values_and_steps_through_statements() -> None:
    shown = stepped(stopped, "p tile\nn\nn\np tile, tile.shape\np ct.sum(tile)\nc\n").split("(Pdb) ")
    first = stopped.__code__.co_firstlineno
    assert f"{Path(__file__).name}({first + 4})stopped()" in shown[0]
    assert "-> tile = doubled(tile)" in shown[0]
    assert shown[1].strip() == "<float32 tile of shape (4,): [0., 1., 2., 3.]>"
    assert "-> ct.store(y, 0, tile)" in shown[2] + shown[3]
    assert "(<float32 tile of shape (4,): [0., 2., 4., 6.]>, (4,))" in "".join(shown)
    assert "<float32 scalar: 12.>" in "".join(shown)


def test_debugger_steps_into_a_called_function() -> None:
    shown = stepped(stopped, "s\ns\ns\ns\nw\np locals()\nc\n")
    assert "doubled()" in shown
    assert "-> twice = tile * 2" in shown


def test_breakpoint_stops_in_the_frame_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int, str]] = []

    def hook() -> None:
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_name, frame.f_lineno, repr(frame.f_locals["n"])))

    monkeypatch.setattr(sys, "breakpointhook", hook)

    @ct.kernel(interpret=True)
    def kernel(x):
        n = ct.bid(0) + 5
        breakpoint()
        ct.store(x, 0, n)

    ct.launch(None, 2, kernel, (np.zeros(1, np.int32),))
    line = kernel.location.line + 2
    assert seen == [("kernel", line, "<int32 scalar: 5>"), ("kernel", line, "<int32 scalar: 6>")]


def test_print_of_python_shows_elements(capsys: pytest.CaptureFixture[str]) -> None:
    @ct.kernel(interpret=True)
    def kernel(x):
        tile = ct.load(x, 0, 4)
        print("x =", tile, f"{tile:.1f}", {"any": "object"})

    ct.launch(None, 1, kernel, (np.arange(4, dtype=np.float32),))
    numbers = "[0.000000, 1.000000, 2.000000, 3.000000]"
    assert capsys.readouterr().out == f"x = {numbers} [0.0, 1.0, 2.0, 3.0] {{'any': 'object'}}\n"


def test_numpy_reads_the_elements() -> None:
    seen = []

    @ct.kernel(interpret=True)
    def kernel(x):
        tile = ct.load(x, 0, 4)
        seen.append(np.asarray(tile) + np.float32(1) * 0)
        ct.store(x, 0, np.float32(2) * tile)

    x = np.arange(4, dtype=np.float32)
    ct.launch(None, 1, kernel, (x,))
    np.testing.assert_array_equal(seen[0], [0, 1, 2, 3])
    np.testing.assert_array_equal(x, [0, 2, 4, 6])


def message(function: Callable[..., None], *args: Any) -> str:
    with pytest.raises(ct.TilecError) as caught:
        ct.launch(None, 1, ct.kernel(interpret=True)(function), args)
    return str(caught.value)


def test_mistake_names_its_argument_and_line() -> None:
    def kernel(x):
        ct.load(x, 0, shape=(3,))

    error = message(kernel, np.zeros(4, np.float32))
    line = kernel.__code__.co_firstlineno + 1
    assert f"{Path(__file__).name}:{line}:" in error
    assert "'ct.load', argument 'shape'" in error
    assert "ct.load(x, 0, shape=(3,))" in error


def test_mistake_in_a_called_function_lists_the_call() -> None:
    def wrong(tile):
        return tile + ct.ones(4, ct.uint32)

    def kernel(x):
        wrong(ct.load(x, 0, 4))

    error = message(kernel, np.zeros(4, np.int32))
    assert "int32 and uint32 have no common type" in error
    assert "note: in the call of 'wrong'" in error


def test_error_of_the_kernel_names_its_line_and_block() -> None:
    def kernel(x):
        ct.assert_(ct.load(x, 0, 4) > 0, "positive")

    error = message(kernel, np.zeros(4, np.int32))
    assert "assertion failed: positive" in error
    assert "in tile block (0, 0, 0) of grid (1, 1, 1)" in error


def test_endless_recursion_ends() -> None:
    def endless(tile):
        return endless(tile + 1)

    def kernel(x):
        endless(ct.load(x, 0, 4))

    assert "'endless' calls itself without end" in message(kernel, np.zeros(4, np.int32))


def test_exception_of_a_statement_is_raised() -> None:
    def kernel(x):
        raise KeyError("of the user")

    with pytest.raises(KeyError, match="of the user"):
        ct.launch(None, 1, ct.kernel(interpret=True)(kernel), (np.zeros(4, np.int32),))


def test_backend_of_a_call_takes_precedence() -> None:
    @ct.kernel(interpret=True)
    def kernel(x):
        seen.append(1)

    seen: list[int] = []
    with pytest.raises(ct.CompileError):
        ct.launch(None, 1, kernel, (np.zeros(4, np.int32),), backend="interpret")
    ct.launch(None, 1, kernel, (np.zeros(4, np.int32),))
    assert seen == [1]


def test_functions_of_the_language_are_refused_on_the_host_afterwards_and_in_other_threads() -> None:
    refused: list[str] = []

    def on_host() -> None:
        try:
            ct.bid(0)
        except ct.TilecError as error:
            refused.append(error.message)

    @ct.kernel(interpret=True)
    def kernel(x):
        thread = threading.Thread(target=on_host)
        thread.start()
        thread.join()

    ct.launch(None, 1, kernel, (np.zeros(4, np.int32),))
    on_host()
    assert refused == ["'ct.bid' can be called inside a kernel only"] * 2


def test_compiled_kernel_is_refused() -> None:
    compiled = ct.compile(stepped_kernels.tuples, signature="x: f32[?], y: f32[?]", stop="tile")
    with pytest.raises(ct.TilecError, match="backend 'python' executes a kernel's function, got Compiled"):
        ct.run(compiled, 1, (np.zeros(8, np.float32), np.zeros(8, np.float32)), backend="python")


def test_static_assertion_names_its_line() -> None:
    def kernel(x):
        ct.static_assert(x.ndim == 2, f"a matrix, got {x.ndim} dimensions")

    error = message(kernel, np.zeros(4, np.int32))
    assert "static assertion failed: a matrix, got 1 dimensions" in error
    assert f":{kernel.__code__.co_firstlineno + 1}:" in error


@ct.kernel
def iterates_over_an_array(x):
    for _ in x:
        pass


@ct.kernel
def converts_an_array(x):
    np.asarray(x)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (iterates_over_an_array, "array 'x' of float32, rank 1 cannot be iterated"),
        (converts_an_array, "only tiles and scalars have elements"),
    ],
)
def test_arrays_are_no_sequences_of_python(kernel: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ct.run(kernel, 1, (np.zeros(4, np.float32),), backend="python")
