"""mlir-opt with the IRDL file and tilec reject operations that violate constraints of IRDL."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest

from tilec.dialect.fields import MANY_RUNS
from tilec.dialect.mlir import context, ir, passmanager
from tilec.errors import InputError, VerificationError
from tilec.text_input.module import Module

I32, F32, I32x4 = (
    f"!cuda_tile.tile<array<i64{shape}>, {element}>" for shape, element in (("", "i32"), ("", "f32"), (": 4", "i32"))
)
OVERFLOW = '{overflow = "none"}'
INVALID_POINTER = '!cuda_tile.tile<array<i64>, !cuda_tile.ptr<i32, "yes">>'
INVALID_TILE = "!cuda_tile.tile<array<i64: 3>, i32>"
NO_SEGMENTS = f"array<i32: {', '.join(['0'] * MANY_RUNS)}>"
# Description -> operations over %i, %f and %j (the types above), and the message of mlir-opt.
REFUSALS = {
    "an invalid keyword": (
        f'"cuda_tile.addi"(%i, %i) {{overflow = "sometimes"}} : ({I32}, {I32}) -> {I32}',
        "'\"sometimes\"' does not satisfy the constraint",
    ),
    "a keyword that is an integer": (
        f'"cuda_tile.addi"(%i, %i) {{overflow = 1 : i32}} : ({I32}, {I32}) -> {I32}',
        "'1 : i32' does not satisfy the constraint",
    ),
    "a missing attribute": (
        f'"cuda_tile.addi"(%i, %i) : ({I32}, {I32}) -> {I32}',
        'attribute "overflow" is expected but not provided',
    ),
    "an element type that is not an integer": (
        f'"cuda_tile.addi"(%f, %f) {OVERFLOW} : ({F32}, {F32}) -> {F32}',
        "'f32' does not satisfy the constraint",
    ),
    "operands of different types": (
        f'"cuda_tile.addi"(%i, %j) {OVERFLOW} : ({I32}, {I32x4}) -> {I32}',
        "expected '!cuda_tile.tile<array<i64>, i32>' but got '!cuda_tile.tile<array<i64: 4>, i32>'",
    ),
    "a tile instead of a scalar": (
        f'%x:3 = "cuda_tile.get_tile_block_id"() : () -> ({I32}, {I32x4}, {I32})',
        "expected '!cuda_tile.tile<array<i64>, i32>' but got '!cuda_tile.tile<array<i64: 4>, i32>'",
    ),
    "too many operands": (
        f'"cuda_tile.negi"(%i, %i) {OVERFLOW} : ({I32}, {I32}) -> {I32}',
        "op expects exactly 1 operands, but got 2",
    ),
    "an unknown operation": (
        f'"cuda_tile.adds"(%i, %i) : ({I32}, {I32}) -> {I32}',
        "unregistered operation 'cuda_tile.adds'",
    ),
    "a partition view without a tensor view": (
        f'%p = "cuda_tile.make_partition_view"(%i) : ({I32}) -> !cuda_tile.partition_view<array<i32: 4>, f32, '
        "array<i32: 0>, unit>",
        "expected base type 'cuda_tile.tensor_view' but got 'builtin.f32'",
    ),
    "an invalid attribute of a pointer": (
        f"%p = builtin.unrealized_conversion_cast to {INVALID_POINTER}\n"
        f'"cuda_tile.ptr_to_int"(%p) : ({INVALID_POINTER}) -> !cuda_tile.tile<array<i64>, i64>',
        "'\"yes\"' does not satisfy the constraint",
    ),
    "two blocks": (
        '"cuda_tile.loop"() ({ ^a: "func.return"() : () -> () ^b: "func.return"() : () -> () }) '
        f"{{operandSegmentSizes = {NO_SEGMENTS}, resultSegmentSizes = {NO_SEGMENTS}}} : () -> ()",
        "expected region 0 to have 1 block(s) but got 2",
    ),
}


# The constraints that docs/irdl.md lists as lost: operations that mlir-opt accepts.
UNCHECKED = {
    "an invariant of types checked in Python": f"%t = builtin.unrealized_conversion_cast to {INVALID_TILE}\n"
    f'%x = "cuda_tile.negi"(%t) {OVERFLOW} : ({INVALID_TILE}) -> {INVALID_TILE}',
    "an invariant of attributes checked in Python": f"%t = builtin.unrealized_conversion_cast to {F32}\n"
    f'%x = "cuda_tile.cat"(%t, %t) {{dim = 7 : i64}} : ({F32}, {F32}) -> {F32}',
    "an optional attribute of the wrong kind": f'%x = "cuda_tile.addf"(%f, %f) {{rounding_mode = "zero", '
    f'flush_to_zero = "yes"}} : ({F32}, {F32}) -> {F32}',
}


def text_of(line: str) -> str:
    """The lines after the casts that define their values."""
    values = zip("ifj", (I32, F32, I32x4), strict=True)
    casts = [f"%{name} = builtin.unrealized_conversion_cast to {type}" for name, type in values]
    return "\n".join([*casts, line, ""])


@pytest.mark.parametrize(("line", "message"), REFUSALS.values(), ids=REFUSALS)
def test_mlir_opt_and_tilec_reject_violated_constraints(
    mlir_opt: Callable[..., subprocess.CompletedProcess[str]], line: str, message: str
) -> None:
    text = text_of(line)
    outcome = mlir_opt(text)
    assert outcome.returncode == 1
    assert re.search(rf"<stdin>:4:\d+: error: .*{re.escape(message)}", outcome.stderr), outcome.stderr
    with pytest.raises((InputError, VerificationError)):
        Module.parse(text)


@pytest.mark.parametrize("line", UNCHECKED.values(), ids=UNCHECKED)
def test_mlir_opt_does_not_check_the_listed_constraints(
    mlir_opt: Callable[..., subprocess.CompletedProcess[str]], line: str
) -> None:
    text = text_of(line)
    outcome = mlir_opt(text)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    with pytest.raises((InputError, VerificationError)):
        Module.parse(text)


def test_effects_are_unknown_to_mlir_opt(mlir_opt: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """mlir-opt keeps two equal unused sums, which it would remove if it knew that they have no effects."""
    pipeline = "builtin.module(cse,canonicalize)"
    lines = [f'%{name} = "cuda_tile.addi"(%i, %i) {OVERFLOW} : ({I32}, {I32}) -> {I32}' for name in "ab"]
    text = text_of("\n".join(lines))
    outcome = mlir_opt(text, f"--pass-pipeline={pipeline}")
    assert (outcome.returncode, outcome.stdout.count("cuda_tile.addi")) == (0, 2)
    with context():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(pipeline).run(module.operation)
    assert "cuda_tile.addi" not in str(module)
