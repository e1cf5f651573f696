"""Every diagnostic of the front end: its message and its source location."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tilec as ct
from tilec.errors import InputError
from tilec.signature import parse

SIGNATURE = "x: f32[?], y: f32[?,?], n: i32, T=16"


def endless(n):
    return endless(n)


# Each case is the last line of the function, the code that the carets mark, and the message.
@pytest.mark.parametrize(
    ("code", "marked", "message"),
    [
        # Shapes and constants
        (
            "ct.zeros((100,), ct.float32)",
            "(100,)",
            "expected extents that are powers of two, got 100 in (100,) (the next is 128)",
        ),
        ("ct.zeros((0,), ct.float32)", "(0,)", "expected extents that are powers of two, got 0"),
        ("ct.zeros((1 << 13, 1 << 13), ct.float32)", None, "tile would exceed the maximum of 16777216 elements"),
        (
            "ct.load(x, (0,), (n,))",
            "(n,)",
            "expected a constant integer, got an int32 scalar (annotate a parameter of the kernel as ct.Constant[int]",
        ),
        ("ct.load(x, (0,), (T, T))", "(T, T)", "expected one extent per dimension, 1 in all, got (16, 16)"),
        ("ct.load(x, (0, 0), (T,))", "(0, 0)", "expected one index per dimension, 1 in all, got 2"),
        ("ct.load(x, (1.5,), (T,))", "(1.5,)", "expected integer scalars, got the constant 1.5"),
        ("ct.zeros((4,), ct.int8) + 300", None, "the integer 300 is out of range of int8 (-128 to 127)"),
        ("~1.5", None, "expected integers or booleans, got the constant 1.5"),
        ("3 ** 3_000_000_000", "3 ** 3_000_000_000", "the result of 'pow' of constants has more than 4096 bits"),
        ("3 << 3_000_000_000", "3 << 3_000_000_000", "the result of 'lshift' of constants has more than 4096 bits"),
        ("10**600 * 10**900", "10**600 * 10**900", "the result of 'mul' of constants has more than 4096 bits"),
        ("(1,) * 10**9", "(1,) * 10**9", "the tuple has 1000000000 elements: at most 65536 are supported"),
        ("2.5 ^ 3", "2.5 ^ 3", "the constants 2.5 and 3: unsupported operand type(s) for ^: 'float' and 'int'"),
        ("True % True", "True % True", "booleans have no remainder: convert one to an integer with int()"),
        ("~True", "~True", "'~' of a boolean constant is an integer in Python: use 'not', or ct.bitwise_not"),
        ("ct.full((4,), 2**65, ct.int8)", "2**65", "is out of range of every integer type"),
        ("ct.zeros((4,), 'f32')", "'f32'", "expected an element type such as ct.float32, got the constant 'f32'"),
        ("ct.reshape(t, (3, -1))", "(3, -1)", "of shape (16,) has 16 elements and cannot be reshaped to (3, -1)"),
        ("ct.reshape(t, (-1, -1))", "(-1, -1)", "expected at most one extent of -1"),
        ("ct.broadcast_to(t, (4, 8))", None, "shape (16,) cannot be broadcast to (4, 8)"),
        ("ct.permute(m, (0, 0))", "(0, 0)", "expected 'C', 'F' or a permutation of 2 axes, got (0, 0)"),
        ("ct.transpose(t)", "t", "expected a tile of at least two dimensions, got a float32 tile of shape (16,)"),
        ("ct.cat((t, m), 0)", "(t, m)", "expected two tiles of one type and shape"),
        ("ct.extract(t, (5,), (4,))", "(5,)", "expected an index of 0 to 3 (16 / 4), got 5"),
        ("ct.sum(t, axis=1)", "1", "expected an axis of -1 to 0, got 1"),
        ("ct.bid(3)", "3", "expected 0, 1 or 2, got 3"),
        ("ct.cat((), 0)", "()", "expected a tuple of one or two tiles, got a tuple of 0"),
        ("t[0]", None, "a tile subscript takes only ':', '...' and None"),
        ("t[:]", None, "a tile subscript takes only ':', '...' and None"),
        ("x.tiled_view((), traversal_steps=())", "()", "expected one step per dimension, 1 in all, got ()"),
        # Types
        ("t.astype(ct.float16) + ct.zeros((T,), ct.bfloat16)", None, "float16 and bfloat16 have no common type"),
        ("t.astype(ct.tfloat32) + 1", None, "tfloat32 has no arithmetic: convert with astype() first"),
        ("(t > 0) + (t > 1)", None, "booleans have no arithmetic: convert one to an integer with astype()"),
        ("t & 1", None, "expected integers, got a float32 tile of shape (16,)"),
        (
            "ct.store(x, (0,), ct.zeros((T,), ct.float64))",
            "ct.zeros((T,), ct.float64)",
            "cannot be converted to float32 implicitly: convert it with astype()",
        ),
        (
            "ct.store(x, (0,), m)",
            "m",
            "expected a tile of 1 dimensions like array 'x', got a float32 tile of shape (4, 8)",
        ),
        ("ct.mma(m, m, m)", None, "shapes (4, 8) and (4, 8) cannot be multiplied: x has 8 columns, y has 4 rows"),
        ("ct.mma(m, t, m)", "t", "expected a tile of two or three dimensions, got a float32 tile of shape (16,)"),
        (
            "ct.mma(h, ct.transpose(h), ct.zeros((4, 4), ct.int32))",
            "ct.zeros((4, 4), ct.int32)",
            "expected an accumulator of float16 or float32 for inputs of float16, got int32",
        ),
        (
            "ct.mma(h, ct.transpose(m), ct.zeros((4, 4), ct.float32))",
            "ct.transpose(m)",
            "expected elements of float16 like x, got float32: convert one with astype()",
        ),
        (
            "ct.mma(m, ct.transpose(m), ct.zeros((8, 8), ct.float32))",
            "ct.zeros((8, 8), ct.float32)",
            "expected shape (4, 4) for x of (4, 8) and y of (8, 4)",
        ),
        (
            "ct.mma(m.astype(ct.int32), ct.transpose(m), ct.zeros((4, 4), ct.float32))",
            "m.astype(ct.int32)",
            "expected elements of float16, bfloat16, float32, tfloat32, float64, float8_e4m3fn, float8_e5m2, float6_",
        ),
        (
            "ct.mma(m, ct.transpose(m), ct.zeros((4, 4), ct.float32), use_fast_acc=True)",
            "True",
            "expected inputs of float8_e4m3fn or float8_e5m2 or float6_e2m3fn or float6_e3m2fn or float4_e2m1fn, got",
        ),
        ("ct.mma_scaled(t, t, t, t, t)", "t", "expected a tile of two or three dimensions, got a float32 tile of"),
        (
            "ct.mma_scaled(m, m, ct.transpose(m), m, m)",
            "m",
            "expected a float32 tile of shape (4, 4), got a float32 tile",
        ),
        (
            "ct.mma_scaled(m, m, ct.transpose(h), m, acc)",
            "ct.transpose(h)",
            "expected elements of float32 like x, got float16",
        ),
        (
            "ct.mma_scaled(m, m, ct.transpose(m), m, acc)",
            "m",
            "expected elements of float8_e4m3fn, float8_e5m2, float4_e2m1",
        ),
        (
            "ct.mma_scaled(fp4, ct.zeros((4, 2), e8), ct.transpose(fp4), ct.zeros((4, 4), e8), acc)",
            "ct.zeros((4, 4), e8)",
            "expected 2 scales of float8_e8m0fnu along K like x_scale, got 4 of float8_e8m0fnu",
        ),
        ("ct.gather(x, t)", "t", "expected integers, got a float32 tile of shape (16,)"),
        (
            "ct.exp(t, rounding_mode=ct.RoundingMode.RZ)",
            "ct.RoundingMode.RZ",
            "expected one of FULL, APPROX, got RZ",
        ),
        ("ct.add(t.astype(ct.float64), 1, flush_to_zero=True)", "True", "expected float32 operands, got float64"),
        (
            "ct.load(x, (0,), (T,), padding_mode='zero')",
            "'zero'",
            "expected one of PaddingMode.UNDETERMINED, PaddingMode.ZERO",
        ),
        (
            "ct.load(x, (0,), (T,), memory_order=ct.MemoryOrder.RELEASE)",
            "ct.MemoryOrder.RELEASE",
            "expected one of WEAK, RELAXED, ACQUIRE, got RELEASE",
        ),
        (
            "ct.load(x, (0,), (T,), memory_order=ct.MemoryOrder.ACQUIRE)",
            None,
            "expected a scope with ACQUIRE, got NONE",
        ),
        (
            "ct.load(x, 0, T, memory_scope=ct.MemoryScope.DEVICE)",
            "ct.MemoryScope.DEVICE",
            "expected no scope with WEAK, got DEVICE",
        ),
        (
            "ct.load(x, 0, T, memory_scope=ct.MemoryScope.CLUSTER)",
            "ct.MemoryScope.CLUSTER",
            "expected one of NONE, BLOCK, DEVICE, SYS, got CLUSTER: DEVICE includes it",
        ),
        ("ct.load(x, (0,), (T,), latency=11)", "11", "expected 1 (low) to 10 (high), got 11"),
        (
            "ct.astype(t, ct.float16, rounding_mode=ct.RoundingMode.RP)",
            None,
            "expected a rounding_mode of RN, RZ to convert float32 to float16, got RP",
        ),
        ("t.astype(ct.float8_e8m0fnu)", None, "a rounding_mode of RZ, RP to convert float32 to float8_e8m0fnu, got RN"),
        ("ct.pack_to_bytes(t > 0)", "t > 0", "expected numbers, got a bool_ tile of shape (16,)"),
        (
            "ct.unpack_from_bytes(ct.zeros(16, ct.uint8), ct.bool_)",
            "ct.bool_",
            "expected a type of numbers, got bool_: compare the bytes with 0",
        ),
        ("ct.int32(1, 2)", None, "'int32(...)' takes one positional argument, or none for zero"),
        ("ct.bitcast(t, ct.int8)", "ct.int8", "expected an element type of 32 bits, got int8 of 8"),
        ("8 + T - 24 // (T - 16)", "24 // (T - 16)", "the constants 24 and 0: integer division or modulo by zero"),
        ("ct.exp(t.astype(ct.tfloat32))", "t.astype(ct.tfloat32)", "tfloat32 is not supported: convert with astype()"),
        ("ct.assume_divisible_by(3, 2)", "ct.assume_divisible_by(3, 2)", "3 is not divisible by 2"),
        ("t[:, :]", "t[:, :]", "expected at most 1 ':' for a tile of shape (16,), got 2"),
        ("ct.insert(t, 0, h)", "h", "expected elements of float32 like x, got float16"),
        ("ct.insert(t, 0, m)", "m", "expected a tile of 1 dimensions like x, got a float32 tile of shape (4, 8)"),
        ("ct.extract(t, 0, 32)", "32", "expected extents of at most (16,), got (32,)"),
        (
            "ct.astile((1, 2, 3), dtype=ct.int8)",
            "(1, 2, 3)",
            "expected tuples whose length is a power of two, got a tuple",
        ),
        ("ct.astile(((1, 2), (3,)), dtype=ct.int8)", "((1, 2), (3,))", "expected items of one shape, got (2,), (1,)"),
        ("ct.astile((t, t), dtype=ct.int8)", "(t, t)", "expected scalars, got a float32 tile of shape (16,)"),
        ("ct.reduce(t, 0, max, n)", "n", "'ct.reduce', argument 'identity': expected constants, got an int32 scalar"),
        ("ct.reduce(t.astype(ct.int8), 0, max, 1.5)", None, "the constant 1.5 is out of range of int8 and becomes 1"),
        ("ct.reduce(t.astype(ct.int8), 0, max, 300)", None, "the constant 300 is out of range of int8 and becomes 44"),
        (
            "ct.reduce((t, t), 0, lambda *x: x[0], (0, 0))",
            "lambda *x: x[0]",
            "expected 'lambda' to return 2 values, got a float32 scalar",
        ),
        ("ct.reduce((t, t), 0, lambda *x: (x, x), (0, 0))", None, "expected a tile or a number, got a tuple of 4"),
        # Names, attributes, calls
        ("tile + 1", "tile", "unknown name 'tile'"),
        ("ct.lod(x)", "ct.lod", "module 'tilec' has no attribute 'lod', did you mean 'load'?"),
        (
            "x.size",
            "x.size",
            "arrays have no attribute 'size', they have: dtype, shape, strides, ndim, foreign_pointer, slice",
        ),
        ("t.sum()", "t.sum", "tiles have no attribute 'sum', they have: dtype, shape, ndim, astype"),
        ("x[0]", "x[0]", "has no elements to index: load a tile with ct.load, single elements with ct.gather"),
        (
            "x.foreign_pointer.size",
            "x.foreign_pointer.size",
            "foreign pointers have no attribute 'size', they have: dtype",
        ),
        (
            "ct.Array.from_foreign(x.foreign_pointer, 4, (1,))",
            "4",
            "expected a tuple of integer scalars, got the constant 4",
        ),
        ("(1, 2)[n]", None, "expected a constant index of a tuple, got an int32 scalar"),
        ("(1, 2)[2]", "(1, 2)[2]", "a tuple of 2 has no element 2"),
        ("(1, 2)[ct]", "(1, 2)[ct]", "a tuple of 2 cannot be indexed by the module 'tilec'"),
        ("x.slice(axis=0, start=0, stop=2**64)", "2**64", "'slice', argument 'stop': expected less than 2^63"),
        (
            "ct.PaddingMode(lambda: 1)",
            "ct.PaddingMode(lambda: 1)",
            "the function 'lambda' is not a value of 'PaddingMode': expected one of 'undetermined', 'zero'",
        ),
        ("vars(ct)", "vars(ct)", "the function 'vars' cannot be called in a kernel"),
        ("zip((1,), (2,))", "zip((1,), (2,))", "'zip' can only be called at compile time: write it inside"),
        ("ct.load(x)", "ct.load(x)", "'ct.load': missing a required argument: 'index'"),
        ("ct.load(x, (0,), (T,), pading_mode=1)", None, "'ct.load': got an unexpected keyword argument 'pading_mode'"),
        ("n(3)", "n(3)", "an int32 scalar cannot be called"),
        ("endless(n)", None, "calls are nested deeper than 256: 'endless' calls itself without end"),
        ("open('f')", "open('f')", "the function 'open' cannot be called in a kernel"),
        ("print(x)", "x", "expected strings, constants and tiles, got array 'x' of float32, rank 1"),
        ("ct.printf(n)", "n", "expected a constant string, got an int32 scalar"),
        ("ct.printf('%d', t)", "'%d'", "expected a directive for float32, got %d"),
        ("ct.printf('%d %d', n)", "'%d %d'", "expected one directive per value, got 2 directives for 1 values"),
        ("ct.static_assert(T == 32, f'T is {T}')", None, "static assertion failed: T is 16"),
        ("ct.static_assert(n == 32)", "n == 32", "expected a compile-time condition, got a bool_ scalar"),
        ("ct.ensure_constant(n)", "n", "expected a compile-time value, got an int32 scalar"),
        ("max(t)", "max(t)", "'max' takes two or more tiles or numbers: along an axis of a tile use ct.max"),
        # Control flow
        ("range(10, 0, -1)", None, "the step of 'range' must be positive, got -1: count upwards and subtract"),
        ("range(1.5)", None, "'range' takes integer scalars, got the constant 1.5"),
        (
            "1 if t > 0 else 2",
            "t > 0",
            "a condition must be a scalar, got a bool_ tile of shape (16,): select by element with ct.where",
        ),
        ("n and t", "t", "a condition must be a scalar, got a float32 tile of shape (16,): select by element"),
        ("x.slice(0, -1, 3)", "-1", "'slice', argument 'start': expected at least 0, got -1"),
        ("x.slice(0, 3, -1)", "-1", "'slice', argument 'stop': expected at least 0, got -1"),
        ("x.slice(0, 5, 3)", "3", "'slice', argument 'stop': expected at least the start of the slice, 5, got 3"),
        ("x.slice(0, ct.uint32(n), 3)", "ct.uint32(n)", "expected a signed integer, got a uint32 scalar: convert it"),
        ("x.slice(0, 0, 8).slice(0, 9, n)", "9", "expected at most the extent of the array, 8, got 9"),
        ("x.slice(0, 0, 8).slice(0, n, 9)", "9", "expected at most the extent of the array, 8, got 9"),
        ("divmod(t, 2)", None, "'divmod' takes integers: for floats use '//' and '%'"),
        ("ct.isnan(n)", "n", "expected floats, got an int32 scalar"),
        ("ct.full((4,), -1.0, ct.float8_e8m0fnu)", "-1.0", "cannot convert -1.0 to float8_e8m0fnu: the type has no"),
        ("ct.float8_e8m0fnu(-1)", None, "cannot convert -1 to float8_e8m0fnu: the type has no negative values"),
        ("x == 3", "x == 3", "array 'x' of float32, rank 1 and the constant 3 cannot be compared"),
        # Python that kernels cannot use
        ("[n, n]", "[n, n]", "a list cannot be used in a kernel: use a tuple"),
        ("[i for i in range(3)]", None, "a list comprehension cannot be used in a kernel"),
        ("{'a': n}", None, "a dictionary cannot be used in a kernel: use a tuple"),
        ("f'{x}'", "f'{x}'", "expected strings, constants and tiles, got array 'x' of float32, rank 1"),
        ("ct.assert_(n > 3, f'{n}')", "f'{n}'", "expected a string, got an f-string with tiles"),
        ("1j", "1j", "a complex constant cannot be used in a kernel"),
    ],
)
def test_expressions(
    error_message: Callable[[Any, str], str], tmp_path: Any, code: str, marked: str | None, message: str
) -> None:
    report = error_message(written(tmp_path, code), SIGNATURE).splitlines()
    assert message in report[0]
    if marked is not None:
        found = report[1][report[2].index("^") : report[2].rindex("^") + 1]
        assert found == marked


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("x[0] = 1", "elements cannot be assigned: tiles are immutable, and arrays are written with ct.store"),
        ("x.value = 1", "only names and tuples of names can be assigned in a kernel"),
        ("a, b = (1, 2, 3)", "expected 2 values to unpack, got 3"),
        ("a, b = n", "expected a tuple of 2 to unpack, got an int32 scalar"),
        ("return n", "a kernel returns nothing: write results with ct.store"),
        ("for i in range(n):\n        return n", "a kernel returns nothing: write results with ct.store"),
        ("for i in (1, 2):\n        pass", "expected range(...) or ct.static_iter(...) after 'in', got a tuple of 2"),
        ("for i in range(n):\n        pass\n    else:\n        pass", "'else' after a loop cannot be used in a kernel"),
        (
            "for i in ct.static_iter(range(3)):\n        break",
            "'break' cannot be used in a loop over ct.static_iter",
        ),
        (
            "for i in ct.static_iter(range(3)):\n        if n > i:\n            return",
            "'return' cannot be used in a loop over ct.static_iter: use 'if'",
        ),
        (
            "while n < 9:\n        n = n * 0.5",
            "'n' changes from iteration to iteration: an int32 scalar and a float32 scalar",
        ),
        ("with open('f') as f:\n        pass", "the function 'open' cannot be called in a kernel"),
        (
            "try:\n        pass\n    finally:\n        pass",
            "'try' cannot be used in a kernel: kernels have no exceptions",
        ),
        ("raise ValueError()", "'raise' cannot be used in a kernel, except raise ct.static_exception(...)"),
        ("assert n > 3", "'assert' cannot be used in a kernel: use ct.assert_"),
        ("import os", "'import' cannot be used in a kernel: import at the top of the file"),
        ("global z\n    z = 1", "'global' cannot be used in a kernel"),
        ("del n", "'del' cannot be used in a kernel"),
        ("class A:\n        pass", "a class cannot be used in a kernel: define it outside the kernel"),
        ("match n:\n        case 1:\n            pass", "'match' cannot be used in a kernel: use 'if' and 'elif'"),
        ("yield n", "'yield' cannot be used in a kernel"),
        ("a = b\n    b = 1", "'b' is used before it is assigned"),
    ],
)
def test_statements(error_message: Callable[[Any, str], str], tmp_path: Any, statement: str, message: str) -> None:
    assert message in error_message(written(tmp_path, statement), SIGNATURE)


def written(folder: Any, code: str) -> Any:
    """A function with the code as its last lines, in a file, because errors show the source."""
    path = folder / "kernel.py"
    lines = [
        "import tilec as ct",
        "def endless(n):",
        "    return endless(n)",
        "def kernel(x, y, n, T: ct.Constant[int]):",
        "    t = ct.load(x, (0,), (T,))",
        "    m = ct.load(y, (0, 0), (4, 8))",
        "    h = m.astype(ct.float16)",
        "    fp4, e8, acc = ct.zeros((4, 64), ct.float4_e2m1fn), ct.float8_e8m0fnu, ct.zeros((4, 4), ct.float32)",
        f"    {code}",
    ]
    path.write_text("\n".join(lines) + "\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), path, "exec"), names)
    return names["kernel"]


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("x: f32[?], n: i32, T: i32", "parameter 'T' is a ct.Constant and needs a value, as in T=128, got 'T: i32'"),
        (
            "x: f32[?], n=3, T=16",
            "parameter 'n' is not a ct.Constant: give its type, as in 'n: i32', or annotate it as ct.Constant[int]",
        ),
        ("x: f32[?], T=16", "the signature lacks parameter 'n': add 'n: f16[?,?]' or 'n: i32'"),
        ("x: f32[?], n: i32", "the signature lacks parameter 'T': add T=128"),
        ("x: f32[?], n: i32, T=16, z=1", "the kernel has no parameter 'z', its parameters are: 'x', 'n', 'T'"),
        ("x: f32[?], n: i32, T=16, T=8", "the signature specifies 'T' twice"),
    ],
)
def test_signature_that_does_not_match_the_kernel_is_rejected(signature: str, message: str) -> None:
    @ct.kernel
    def kernel(x, n, T: ct.Constant[int]):
        pass

    with pytest.raises(InputError) as caught:
        kernel.to_tile(parse(signature))
    assert caught.value.message == message
    assert "note: kernel 'kernel'\n        def kernel(x, n, T: ct.Constant[int]):" in str(caught.value)


def test_arguments_of_a_signature_may_have_any_order(tile_text: Callable[[Any, str], str]) -> None:
    @ct.kernel
    def kernel(x, n, T: ct.Constant[int]):
        ct.store(x, (0,), ct.full((T,), n, ct.float32))

    assert tile_text(kernel, "T=16, n: i32, x: f32[?]") == tile_text(kernel, "x: f32[?], n: i32, T=16")


def test_functions_of_kernels_cannot_be_called_on_the_host() -> None:
    with pytest.raises(ct.errors.CompileError, match="'ct.zeros' can be called inside a kernel only"):
        ct.zeros((4,), ct.float32)
    with pytest.raises(ct.errors.CompileError, match="can be called inside a kernel only"):
        ct.int8(4)
