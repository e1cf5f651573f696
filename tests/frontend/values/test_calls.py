"""Calls of user functions, and the source locations of their operations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import tilec as ct
from tilec.ast_to_tile.entry import kernel_to_tile
from tilec.dialect.cuda_tile.debug_info import subprogram_of
from tilec.dialect.location import innermost
from tilec.signature import parse

Interpret = Callable[..., None]
FACTOR = 3


def scaled(tile, factor=FACTOR, *, shift=0):
    return tile * factor + shift


@ct.function
def both(tile):
    return scaled(tile), scaled(tile, 2, shift=1)


@ct.function(host=True)
def rounded_up(n, step):
    return (n + step - 1) // step * step


def varied(first, *rest, **named):
    total = first
    for item in ct.static_iter(rest):
        total = total + item
    return total


@ct.kernel
def calls(x, out):
    tile = ct.load(x, (0,), (4,))
    a, b = both(tile)
    pair = (tile, tile)
    square = lambda t, power=2: t**power  # noqa: E731

    def local(t):
        return t - a

    ct.store(out, (0,), a)
    ct.store(out, (1,), b)
    ct.store(out, (2,), local(scaled(*pair)) + square(tile))
    ct.store(out, (3,), varied(tile, tile, 1) + rounded_up(5, 4))


def test_functions_are_inlined(interpret: Interpret) -> None:
    x, out = np.arange(4, dtype=np.float32), np.zeros(16, np.float32)
    interpret(calls, 1, x, out)
    np.testing.assert_array_equal(out, np.hstack((3 * x, 2 * x + 1, x * x - 3 * x + x**2, 2 * x + 1 + 8)))
    assert rounded_up(5, 4) == 8


def test_closure_variables_are_read_at_compile_time(interpret: Interpret) -> None:
    def make(shift: int) -> Any:
        def shifted(tile):
            return tile + shift

        @ct.kernel
        def kernel(x):
            ct.store(x, (0,), shifted(ct.load(x, (0,), (4,))) + shift)

        return kernel

    x = np.zeros(4, np.int32)
    interpret(make(5), 1, x)
    np.testing.assert_array_equal(x, [10] * 4)


def test_location_of_an_inlined_operation_has_its_line_and_call_site() -> None:
    kernel = ct.kernel(kernel_with_a_call)
    signature = parse("x: f32[?]").bind(kernel)
    module = kernel_to_tile(kernel, signature)
    (entry,) = module.body.operations
    product = next(op for op in entry.body.blocks[0].operations if op.operation.name == "cuda_tile.mulf").location
    first, last = scaled.__code__.co_firstlineno, kernel_with_a_call.__code__.co_firstlineno
    positions = [(at.start_line, at.start_col) for at in map(innermost, (product.callee, product.caller))]
    assert positions == [(first + 1, 12), (last + 1, 23)]
    called, caller, own = map(subprogram_of, (product.callee, product.caller, entry.operation.location))
    assert caller == own
    assert (own.name, own.linkage_name, own.line) == ("kernel_with_a_call", entry.sym_name, last)
    assert (called.name, called.linkage_name, called.line) == ("scaled", f"scaled@test_calls:{first}:1", first)
    assert f"{called.file.directory}/{called.file.name}" == __file__
    # Arguments are named after the parameters.
    names = [argument.location.name_str for argument in entry.body.blocks[0].arguments]
    assert names == ["x", "x.shape[0]", "x.strides[0]"]


def kernel_with_a_call(x):
    ct.store(x, (0,), scaled(ct.load(x, (0,), (4,))))


def test_error_in_a_called_function_has_notes_with_the_calls(error_message: Any) -> None:
    def reshaped(tile):
        return ct.reshape(tile, (7,))

    def outer(tile):
        return reshaped(tile)

    def kernel(x):
        outer(ct.load(x, (0,), (4,)))

    message = error_message(kernel, "x: f32[?]").splitlines()
    found = "a tile of shape (4,) has 4 elements and cannot be reshaped to (7,)"
    assert f"'ct.reshape', argument 'shape': {found}" in message[0]
    assert message[1].strip() == "return ct.reshape(tile, (7,))"
    assert message[2].index("^") == message[1].index("(7,)")
    assert "note: in the call of 'reshaped'" in message[3] and message[4].strip() == "return reshaped(tile)"
    assert "note: in the call of 'outer'" in message[6] and "outer(ct.load" in message[7]


def test_error_without_an_argument_has_notes_with_the_calls(error_message: Any) -> None:
    def mixed(tile):
        return tile.astype(ct.float16) + tile.astype(ct.bfloat16)

    def kernel(x):
        mixed(ct.load(x, (0,), (4,)))

    message = error_message(kernel, "x: f32[?]")
    assert "float16 and bfloat16 have no common type" in message and "note: in the call of 'mixed'" in message


def test_decorated_function_is_inlined(interpret: Interpret) -> None:
    @functools.wraps(scaled)
    def wrapped(tile):
        return scaled(tile, 7)

    @ct.kernel
    def kernel(x):
        ct.store(x, (0,), wrapped(ct.load(x, (0,), (4,))))

    x = np.ones(4, np.int32)
    interpret(kernel, 1, x)
    np.testing.assert_array_equal(x, [7] * 4)


twice = lambda tile: tile * 2  # noqa: E731


def test_module_level_lambda_is_inlined(interpret: Interpret) -> None:
    @ct.kernel
    def kernel(x):
        ct.store(x, (0,), twice(ct.load(x, (0,), (4,))))

    x = np.ones(4, np.int32)
    interpret(kernel, 1, x)
    np.testing.assert_array_equal(x, [2] * 4)


def test_function_without_source_is_rejected(error_message: Any) -> None:
    names: dict[str, Any] = {}
    exec("def hidden(tile):\n    return tile", names)
    hidden = names["hidden"]

    def kernel(x):
        hidden(ct.load(x, (0,), (4,)))

    assert "the source of 'hidden' cannot be read, because Python keeps no text" in error_message(kernel, "x: f32[?]")
