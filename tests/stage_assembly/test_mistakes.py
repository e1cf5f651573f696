"""Errors in the assembly of tile_gpu or ptx are reported at their line."""

from __future__ import annotations

import pytest

from tilec.errors import TilecError
from tilec.text_input.stage_module import read_stage_module

HEAD = 'tile_gpu.kernel @k(%a: i32, %f: f32) target "sm_100a" warps 4 {\n'
ENTRY = 'ptx.entry @k() target "sm_100a" threads [32, 1, 1] attributes {shared = []} {\n'
MISTAKES = {
    "unknown operation": (HEAD + "  tile_gpu.storewait\n}", 2, "unknown operation: 'tile_gpu.storewait'; did you mean"),
    "unknown upstream operation": (HEAD + "  %0 = arith.ad %a : i32\n}", 2, "unknown operation: 'arith.ad'"),
    "undeclared value": (HEAD + "  %0 = arith.addi %a, %b : i32\n}", 2, "use of undeclared SSA value name '%b'"),
    "operand of another type": (
        HEAD + "  %0 = arith.addi %a, %f : i32\n}",
        2,
        "expects different type than prior uses",
    ),
    "comma after the last operand": (
        HEAD + "  %0 = arith.addi %a, %a, : i32\n}",
        2,
        "expected SSA operand, but got ':'",
    ),
    "unknown predicate": (HEAD + "  %0 = arith.cmpi lt, %a, %a : i32\n}", 2, "expected one of eq, ne, slt"),
    "undefined alias": (HEAD + "  %0 = arith.constant dense<0> : !tile\n}", 2, "tile"),
    "unknown memory": (HEAD + "  %0 = tile_gpu.shared : buffer<4xf32, cache, a=1>\n}", 2, "one of: shared, tensor"),
    "channel of integers": (
        HEAD + "  %0 = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[i32]>\n}",
        2,
        "expected buffers in a channel, but got 'i32'",
    ),
    "unknown swizzle": (
        HEAD + '  %0 = tile_gpu.make_tensor_map "f32" %a[%a] strides [] box [4] swizzle 12B fill zero\n}',
        2,
        "expected 'swizzle' to be one of: none, 32B",
    ),
    "too many results": (HEAD + "  %0:2 = arith.addi %a, %a : i32\n}", 2, "requires one result"),
    "missing end of the kernel": (HEAD, 2, "but got the end of the text"),
    "operation after a terminator": (HEAD + "  tile_gpu.return\n  tile_gpu.barrier\n}", 3, "which ends its block"),
    "roles without a role": (
        HEAD + "  tile_gpu.roles {\n}\n}",
        2,
        "expected 1 to 8 roles (compute warps 4), but got '{'",
    ),
    "block of a name twice": (
        ENTRY + "  cf.br ^bb1\n^bb1:\n  cf.br ^bb1\n^bb1:\n  ptx.return\n}",
        5,
        "redefinition of block '^bb1'",
    ),
    "constant that is not a number": (
        HEAD + '  %0 = arith.constant "x"\n}',
        2,
        'expected a number or elements with their type, but got "x"',
    ),
    "offsets of two types": (
        'tile_gpu.kernel @k(%n: i32, %p: i64) target "sm_100a" warps 4 {\n  %x = tile_gpu.load_view %p[%n, %p] '
        "extents [%n, %n] strides [%n, %n] vector 1 : "
        'tensor<1x1xf32, "register=none lane=(0,0)(0,0)(0,0)(0,0)(0,0) warp=(0,0)(0,0) shape=1x1">\n}',
        2,
        "all operands of 'offsets' must have one type, but got 'i32' and 'i64'",
    ),
    "unknown block": (ENTRY + "  cf.br ^bb7\n}", 2, "expected a block of the kernel (^bb1), but got '^bb7'"),
    "too many operands": (
        ENTRY + '  %0 = ptx.compute "mov.b32 $0, 1;" : i32\n  ptx.execute "x;"(' + ", ".join(["%0"] * 9) + ")\n}",
        3,
        "write ptx.execute_many",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_error_has_its_line(name: str) -> None:
    text, line, message = MISTAKES[name]
    with pytest.raises(TilecError) as caught:
        read_stage_module(text, "<k>")
    assert message in str(caught.value)
    assert (caught.value.location.file, caught.value.location.line) == ("<k>", line)
