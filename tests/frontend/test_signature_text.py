"""The text form of signatures (`--sig`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tilec as ct
from tilec.errors import InputError
from tilec.runtime.arguments.arguments import ArrayArgument, ConstantArgument, ElementConstant, ScalarArgument
from tilec.signature import Signature, parse


def one(text: str) -> ArrayArgument:
    (argument,) = parse(text)
    assert isinstance(argument, ArrayArgument)
    return argument


def test_array_is_row_major_and_aligned_to_16_bytes_by_default() -> None:
    assert one("A: f16[?,?]") == ArrayArgument("A", "f16", (None, None), (None, 1), 16, (1, 1), (8, 1))


def test_static_extents_and_divisors() -> None:
    array = one("A: f32[1000,?%64]")
    assert (array.shape, array.shape_divisors) == ((1000, None), (1, 64))


def test_strides_in_elements() -> None:
    array = one("B: f16[?,?] strides (1,?)")
    assert (array.strides, array.stride_divisors) == ((1, None), (1, 8))
    assert one("B: f16[?,?] strides (?%64,1)").stride_divisors == (64, 1)
    assert one("B: f16[?,?] strides (520,1)").strides == (520, 1)


def test_alignment_applies_to_base_and_strides() -> None:
    array = one("A: f16[?,?] align 4")
    assert (array.alignment, array.stride_divisors) == (4, (2, 1))
    assert one("A: f16[?,?] align 2").stride_divisors == (1, 1)
    # An alignment of one byte implies no stride divisor.
    assert one("A: f32[?,?] align 1").stride_divisors == (1, 1)


def test_scalars_and_constants() -> None:
    assert parse("x: f32, n: i64").arguments == (
        ScalarArgument("x", "f32"),
        ScalarArgument("n", "i64"),
    )
    constants = parse("TM=128, eps=1e-5, low=-inf, flag=True, name='row', none=None, dtype=bf16")
    values = [argument.value for argument in constants if isinstance(argument, ConstantArgument)]
    assert values == [128, 1e-5, float("-inf"), True, "row", None, ElementConstant("bf16")]


def test_array_of_rank_0() -> None:
    assert one("x: f32[]").shape == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A: f16[?,?], B: f16[?,?] strides (1,?), x: f32, TM=128",
        "A: u8[1,2,?%4] strides (?%3,?,1) align 1, b: i1",
        "A: tf32[], dtype=f8E4M3FN, s='a b'",
    ],
)
def test_text_and_json_of_a_signature_round_trip(text: str) -> None:
    signature = parse(text)
    assert parse(str(signature)) == signature
    assert Signature.from_json(signature.to_json()) == signature


def test_json_form() -> None:
    assert json.loads(parse("A: f16[?,?], x: f32, TM=128").to_json()) == {
        "arguments": [
            {
                "name": "A",
                "kind": "array",
                "element": "f16",
                "rank": 2,
                "shape": [None, None],
                "strides": [None, 1],
                "alignment": 16,
                "divisibility": {"shape": [1, 1], "strides": [8, 1]},
            },
            {"name": "x", "kind": "scalar", "element": "f32"},
            {"name": "TM", "kind": "constant", "value": 128},
        ]
    }


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("=3", 1, "expected the name of a parameter"),
        ("A: f16[?] strides 1", 19, "expected '(' after 'strides'"),
        ("A: f16[?%x]", 10, "expected a divisor after '%'"),
        ("A: f16[?] align x", 17, "expected a number of bytes after 'align'"),
        ("A f16", 3, "expected ':' and a type, or '=' and a constant, after 'A'"),
        ("A: q16[?]", 4, "unknown element type 'q16', expected one of: i1, u8"),
        ("A: f4E2M1FN[?]", 4, "elements of f4E2M1FN share bytes and cannot be arguments: pass their bytes as u8"),
        ("A: f16[?,?] strides (1)", 24, "'A' has 2 extents and 1 strides: expected one stride per extent"),
        ("A: f16[?] align 3", 17, "expected an alignment that is a power of two, got 3"),
        ("A: f16[?] aligned 4", 11, "expected 'strides', 'align' or 'index', got 'aligned'"),
        ("A: f16[x]", 8, "expected an extent: an integer, '?' or '?%n'"),
        ("A: f16[-1]", 8, "expected an extent of at least 0, got -1"),
        ("A: f16[?%0]", 10, "expected a divisor of at least 1, got 0"),
        ("A: f16[?;", 9, "unexpected character ';'"),
        ("A: f16[?] B: f16[?]", 11, "expected 'strides', 'align' or 'index', got 'B'"),
        ("TM=", 4, "expected a constant"),
        ("TM=128 128", 8, "expected ',' or the end of the signature"),
    ],
)
def test_syntax_error_has_its_column(text: str, column: int, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.message.startswith(f"signature, column {column}: {problem}")
    assert str(caught.value).endswith(f"{text}\n    {' ' * (column - 1)}^")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ('"kind": "scalar", "element": "i4"', "element type 'i4' is not supported for kernel arguments"),
        (
            '"kind": "constant", "value": {"member": "modes:Mode.ADD"}',
            "the member 'modes:Mode.ADD' of an enumeration cannot be compiled from text",
        ),
    ],
)
def test_json_of_arguments_that_kernels_cannot_have(argument: str, message: str) -> None:
    @ct.kernel
    def kernel(a: Any):
        ct.ensure_constant(a)

    with pytest.raises(InputError, match=message):
        kernel.to_tile(Signature.from_json(f'{{"arguments": [{{"name": "a", {argument}}}]}}'))


def test_json_that_is_not_a_signature_is_rejected() -> None:
    with pytest.raises(InputError, match="tilec.signature: 'arguments\\[0\\]' needs a field 'name'"):
        Signature.from_json('{"arguments": [{"kind": "array"}]}')
