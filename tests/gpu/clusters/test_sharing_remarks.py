"""Each reason why the blocks of a cluster do not multiply in pairs, or adjacent tile blocks do not load once."""

from __future__ import annotations

import pytest

from tilec.compile_options import DEFAULTS
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.channels.share_loads import share_loads
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.target import target_named
from tilec.text_input.stage_module import read_stage_module

PAIR = """
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x256xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x256xf32, tensor, lanes=128>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 cluster 2 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rows = arith.constant 128 : i32
  %yes = arith.constant true
  %map_a = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %map_b = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %ca = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a]>
  %cb = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!b]>
  %cd = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %rank = tile_gpu.cluster_rank
  %row = arith.muli %rank, %rows : i32
  %d = tile_gpu.put_begin %cd : channel<[!d]>
  scf.for %k = %zero to %n step %one : i32 {
    %sa = tile_gpu.put_begin %ca : channel<[!a]>
    tile_gpu.tma_load %map_a[%k, %row] -> %sa of %ca : !a
    tile_gpu.put_commit %ca : channel<[!a]>
    %sb = tile_gpu.put_begin %cb : channel<[!b]>
    tile_gpu.tma_load %map_b[%zero, %k] -> %sb of %cb : !b
    tile_gpu.put_commit %cb : channel<[!b]>
    %ga = tile_gpu.get %ca consumer 0 : channel<[!a]>
    %gb = tile_gpu.get %cb consumer 0 : channel<[!b]>
    tile_gpu.tcgen05_mma f16 %ga, %gb into %d accumulate %yes : !a, !b -> !d
    tile_gpu.release %ca consumer 0 : channel<[!a]>
    tile_gpu.release %cb consumer 0 : channel<[!b]>
  }
  tile_gpu.put_commit %cd : channel<[!d]>
  %g = tile_gpu.get %cd consumer 0 : channel<[!d]>
  tile_gpu.release %cd consumer 0 : channel<[!d]>
}
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def remarks(run, text: str, target: str) -> list[str]:
    module = read_stage_module(text, "kernel.mlir")
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    context = Context.of(kernel, target_named(target), DEFAULTS, [])
    with module.context:
        run(kernel, context)
    return [remark.message for remark in context.remarks]


CHANNEL_A, CHANNEL_B = (line for line in PAIR.splitlines() if "producer tma" in line)
LOAD_B = "tile_gpu.tma_load %map_b[%zero, %k] -> %sb of %cb : !b"
MULTIPLY = "    tile_gpu.tcgen05_mma f16 %ga, %gb into %d accumulate %yes : !a, !b -> !d\n"
MULTIPLY_VIEW = """    %v = tile_gpu.view_buffer %gb : !b -> !v
    tile_gpu.tcgen05_mma f16 %ga, %v into %d accumulate %yes : !a, !v -> !d
"""
BUFFER_B = "!b = buffer<64x256xf16, shared, contiguous=1 swizzle=128B>\n"
THREE_DIMENSIONS = 'map_b = tile_gpu.make_tensor_map "f16" %p[%n, %n, %n] strides [%n, %n] box [64, 128, 2]'
LANES = "lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0)"
COLUMNS = f'!c = tensor<64x32xf32, "register=(0,1)(8,0)(0,8)(0,16) {LANES} shape=64x32">\n'
RELEASE = "  tile_gpu.release %cd consumer 0 : channel<[!d]>\n"
WITHOUT_PAIRS = {
    "threads read an operand of a multiply as well": [
        (CHANNEL_B, CHANNEL_B.replace("[mma]", "[mma, threads]")),
        (
            "    tile_gpu.release %cb",
            "    %t = tile_gpu.get %cb consumer 1 : channel<[!b]>\n"
            "    tile_gpu.release %cb consumer 1 : channel<[!b]>\n    tile_gpu.release %cb",
        ),
    ],
    "a loop or a branch around a multiply may differ between the blocks": [("%zero to %n", "%zero to %row")],
    "a pair needs 64 or 128 rows per block and 32 to 256 columns, got 128x16": [
        ("64x256xf16, shared, contiguous=1 swizzle=128B", "64x16xf16, shared, contiguous=1 swizzle=32B"),
        ("128x256xf32", "128x16xf32"),
        ("box [64, 64] swizzle 128B", "box [16, 64] swizzle 32B"),
    ],
    "the rows of a left operand move in tensor memory, which is done in each block": [
        (BUFFER_B, BUFFER_B + "!t = buffer<128x64xf16, tensor, lanes=128 packed>\n"),
        ("channel<[!a]>", "channel<[!a, !t]>"),
        ("%sa = ", "%sa, %st = "),
        ("%ga = ", "%ga, %gt = "),
        (MULTIPLY, MULTIPLY.replace("%ga", "%gt").replace("!a,", "!t,")),
    ],
    "rows are skipped, which a pair does by 8 words for 128 rows per block, got 4 for 128": [
        (MULTIPLY, MULTIPLY.replace("accumulate %yes", "accumulate %yes skip [%n, %n, %n, %n]")),
    ],
    "filters are the first operand, which is multiplied in each block": [
        ("128x256xf32, tensor, lanes=128", "128x64xf32, tensor, lanes=128 transposed"),
        (BUFFER_B, BUFFER_B.replace("64x256", "64x64")),
    ],
    "the right operand is not loaded by TMA": [
        (CHANNEL_B, CHANNEL_B.replace("producer tma", "producer threads")),
        (LOAD_B, ""),
    ],
    "the blocks may load different right operands": [(LOAD_B, LOAD_B.replace("%zero", "%row"))],
    "half of 32 columns of the right operand is less than a row of its swizzle": [
        ("128x64xf16, shared, contiguous=1 swizzle=128B", "128x64xf8E4M3FN, shared, contiguous=1 swizzle=64B"),
        ("64x256xf16, shared, contiguous=1 swizzle=128B", "64x32xf8E4M3FN, shared, contiguous=1 swizzle=32B"),
        ("128x256xf32", "128x32xf32"),
        ("box [64, 128] swizzle 128B", "box [64, 128] swizzle 64B"),
        ("box [64, 64] swizzle 128B", "box [32, 64] swizzle 32B"),
        ('make_tensor_map "f16"', 'make_tensor_map "f8E4M3FN"'),
        ("tcgen05_mma f16", "tcgen05_mma f8E4M3FN"),
    ],
    "two multiplies read different halves of one right operand": [
        (BUFFER_B, BUFFER_B.replace("64x256", "128x128") + BUFFER_B.replace("!b", "!v").replace("64x256", "128x128")),
        ("!v = buffer<128x128xf16, shared, contiguous=1", "!v = buffer<128x128xf16, shared, contiguous=0"),
        ("128x64xf16", "128x128xf16"),
        ("box [64, 64]", "box [64, 128]"),
        ("128x256xf32", "128x128xf32"),
        (MULTIPLY, MULTIPLY + MULTIPLY_VIEW),
    ],
    "threads read columns of 64 rows of an accumulator": [
        (BUFFER_B, BUFFER_B + COLUMNS),
        ("128x64xf16", "64x64xf16"),
        ("128x256xf32, tensor, lanes=128", "64x256xf32, tensor, lanes=64"),
        ("box [64, 128]", "box [64, 64]"),
        (RELEASE, "  %x = tile_gpu.load_tensor_memory %g from 0 : !d -> !c\n" + RELEASE),
    ],
    "a right operand is the left one of another multiply": [
        (BUFFER_B, BUFFER_B.replace("64x256", "128x128")),
        ("128x64xf16", "128x128xf16"),
        ("128x256xf32", "128x128xf32"),
        ("box [64, 64]", "box [64, 128]"),
        (MULTIPLY, MULTIPLY + MULTIPLY.replace("%ga", "%gb").replace("!a,", "!b,")),
    ],
    "the columns of the right operand have several dimensions": [
        (BUFFER_B, "!b = buffer<2x128x64xf16, shared, contiguous=2 swizzle=128B>\n" + BUFFER_B.replace("!b", "!v")),
        ("!v = buffer<64x256xf16, shared, contiguous=1", "!v = buffer<64x256xf16, shared, contiguous=0"),
        ('map_b = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64]', THREE_DIMENSIONS),
        ("%map_b[%zero, %k]", "%map_b[%k, %zero, %zero]"),
        (MULTIPLY, MULTIPLY_VIEW),
    ],
}


@pytest.mark.parametrize("reason", WITHOUT_PAIRS)
def test_blocks_that_do_not_multiply_in_pairs(reason):
    expected = f"the blocks of a cluster do not multiply in pairs: {reason}"
    assert remarks(share_loads, changed(PAIR, *WITHOUT_PAIRS[reason]), "sm_100a") == [expected]


def test_blocks_that_multiply_in_pairs_have_no_remark():
    assert remarks(share_loads, PAIR, "sm_100a") == []


JOINED = (
    f"""
#s = "register=(0,1)(8,0)(0,8)(0,16)(0,32)(0,64) {LANES} shape=64x128"
"""
    + """
!a = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x128xf16, shared, contiguous=1 swizzle=128B>
!s = tensor<64x128xf32, #s>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sums = arith.constant dense<0.0> : !s
  %map_a = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %map_b = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse ring : channel<[!a, !b]>
  %i = tile_gpu.program_id 0
  %j = tile_gpu.program_id 1
  scf.for %k = %zero to %n step %one : i32 {
    %s:2 = tile_gpu.put_begin %c : channel<[!a, !b]>
    tile_gpu.tma_load %map_a[%k, %i] -> %s#0 of %c : !a
    tile_gpu.tma_load %map_b[%j, %k] -> %s#1 of %c : !b
    tile_gpu.put_commit %c : channel<[!a, !b]>
    %g:2 = tile_gpu.get %c consumer 0 : channel<[!a, !b]>
    %product = tile_gpu.wgmma f16 %g#0, %g#1, %sums : !a, !b -> !s
    %complete = tile_gpu.wgmma_wait %product pending 0 : !s
    tile_gpu.release %c consumer 0 : channel<[!a, !b]>
  }
}
"""
)
PIXELS = (
    '"f16" %p[%n, %n, %n, %n] strides [%n, %n, %n] '
    "kind im2col lower [-1, -1] upper [-1, -1] element_strides [1, 1, 1, 1] box"
)
NOT_JOINED = {
    "a loop of the kernel may wait for another tile block": [
        (
            "  scf.for",
            "  scf.while () : () -> () {\n    %more = arith.cmpi slt, %n, %one : i32\n    scf.condition(%more)\n"
            "  } do () {\n    scf.yield\n  }\n  scf.for",
        ),
    ],
    "a loop or a branch around the loads may differ between them": [("%zero to %n", "%zero to %i")],
    "their position is not computed from that of the tile block alone": [
        ("scf.for", "%r = scf.for"),
        ("step %one :", "step %one iter_args(%x = %zero) -> (i32) :"),
        ("%map_a[%k, %i]", "%map_a[%k, %x]"),
        ("%map_b[%j, %k]", "%map_b[%x, %k]"),
        ("[!a, !b]>\n  }", "[!a, !b]>\n    %y = arith.addi %x, %i : i32\n    scf.yield %y : i32\n  }"),
    ],
    "what they load probably differs": [("%map_b[%j, %k]", "%map_b[%i, %k]")],
    "the rows of a tile cannot be divided": [
        ('"f16" %p[%n, %n] strides [%n] box', PIXELS),
        ("  %one =", "  %tap = arith.constant 0 : i16\n  %one ="),
        ("%map_a[%k, %i]", "%map_a[%k, %j, %j, %j] offsets [%tap, %tap]"),
        ("%map_b[%j, %k]", "%map_b[%j, %k, %k, %k] offsets [%tap, %tap]"),
    ],
}


@pytest.mark.parametrize("reason", NOT_JOINED)
def test_adjacent_tile_blocks_that_do_not_load_once(reason):
    expected = f"adjacent tile blocks do not load the same operands once: {reason}"
    assert remarks(share_loads, changed(JOINED, *NOT_JOINED[reason]), "sm_90a") == [expected]


def test_adjacent_tile_blocks_that_load_once_have_no_remark():
    assert remarks(share_loads, JOINED, "sm_90a") == []
