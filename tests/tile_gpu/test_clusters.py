"""Kernels whose tile blocks are clusters round trip, and the verifier rejects what does not join their CTAs."""

from __future__ import annotations

import pytest

from tilec.errors import VerificationError
from tilec.text_input.stage_module import read_stage_module, stage_module_text

HEAD = """
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<128x128xf32, tensor, lanes=128>
!scales = buffer<128x2xf8E8M0FNU, shared, scale_factors depth=1>
!e = buffer<64x8xf16, shared, contiguous=0 swizzle=128B>
!f = buffer<128x16xf32, tensor, lanes=128>
!l = buffer<64x64xf16, tensor, lanes=64 packed>
!m = buffer<128x64xf16, tensor, lanes=128 packed>
!rows = buffer<128xi32, shared, contiguous=0 swizzle=none>
!operands = channel<[!a, !b]>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 CLUSTER{
  %yes = arith.constant true
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero
"""
CLUSTER = "across cluster "
OPERANDS = "  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring ACROSS: !operands\n"
SUMS = "  %s = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once ACROSS: channel<[!d]>\n"
SLOTS = "  %d = tile_gpu.put_begin %s : channel<[!d]>\n  %x, %y = tile_gpu.put_begin %c : !operands\n"
MULTIPLY = "  tile_gpu.tcgen05_mma f16 pair %x, %y into %d accumulate %yes : !a, !b -> !d\n"
# A multiply of one CTA, and one of a pair with all columns of rhs.
TRANSPOSED = "  %t = tile_gpu.view_buffer %x : !a -> buffer<64x128xf16, shared, contiguous=0 swizzle=128B>\n"
ONE, WHOLE = (
    f"{TRANSPOSED}  tile_gpu.tcgen05_mma f16 {pair}%x, %t into %d accumulate %yes"
    " : !a, buffer<64x128xf16, shared, contiguous=0 swizzle=128B> -> !d\n"
    for pair in ("", "pair ")
)
# 64 rows per CTA: the sums are in halves.
NARROW_SUMS = """
  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring ACROSS: channel<[!b, !b]>
  %s = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once ACROSS: \
channel<[buffer<64x128xf32, tensor, lanes=128 halves>]>
  %d = tile_gpu.put_begin %s : channel<[buffer<64x128xf32, tensor, lanes=128 halves>]>
  %x, %y = tile_gpu.put_begin %c : channel<[!b, !b]>
"""
NARROW = """  tile_gpu.tcgen05_mma f16 pair %x, %y into %d accumulate %yes : !b, !b -> \
buffer<64x128xf32, tensor, lanes=128 halves>
"""
LOAD = "  tile_gpu.tma_load %map[%n, %n] multicast -> %x of %c : !a\n"
PARTS = "register=(1) lane=(0)(0)(0)(0)(0) warp=(0)(0) shape={0}"
GATHER = f'  %g = tile_gpu.gather_parts %n : i32 -> tensor<{{0}}xi32, "{PARTS}">\n'


def module(body: str, cluster: str = "cluster 2 ", across: str = "across pair "):
    head = HEAD.replace("CLUSTER", cluster)
    return read_stage_module(f"{head}{body.replace('ACROSS', across)}}}\n", "<k>")


def test_pair_round_trips() -> None:
    made = module(OPERANDS + SUMS + SLOTS + MULTIPLY)
    text = stage_module_text(made)
    assert "warps 4 cluster 2 {" in text and "reuse ring across pair" in text and "tcgen05_mma f16 pair" in text
    assert stage_module_text(read_stage_module(text, "<k>")) == text


def test_pair_of_64_rows_each_round_trips() -> None:
    made = module(NARROW_SUMS + NARROW)
    text = stage_module_text(made)
    assert "buffer<64x128xf32, tensor, lanes=128 halves>" in text
    assert stage_module_text(read_stage_module(text, "<k>")) == text


def scaled(rows: int = 128, columns: int = 128, copied: str = "pair ") -> str:
    """A block-scaled multiply of a pair: the rows per CTA, and the columns whose factors each CTA has."""
    lhs, rhs = f"{rows}x4xf8E8M0FNU", f"4x{columns}xf8E8M0FNU"
    left, right, left_copy, right_copy = (
        f"buffer<{factors}, {memory}, scale_factors depth={depth}>"
        for memory in ("shared", "tensor")
        for factors, depth in ((lhs, 1), (rhs, 0))
    )
    p = f"buffer<{rows}x128xf8E4M3FN, shared, contiguous=1 swizzle=128B>"
    q = "buffer<128x64xf8E4M3FN, shared, contiguous=0 swizzle=128B>"
    sums = f"buffer<{rows}x128xf32, tensor, lanes=128{'' if rows > 64 else ' halves'}>"
    operands, factors = f"channel<[{p}, {q}]>", f"channel<[{left}, {right}, {left_copy}, {right_copy}]>"
    return f"""
  %c = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring ACROSS: {operands}
  %f = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring ACROSS: {factors}
  %s = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once ACROSS: channel<[{sums}]>
  %d = tile_gpu.put_begin %s : channel<[{sums}]>
  %x, %y = tile_gpu.get %c consumer 0 : {operands}
  %u, %v, %tu, %tv = tile_gpu.get %f consumer 0 : {factors}
  tile_gpu.tcgen05_copy_scales {copied}%u -> %tu : {left} -> {left_copy}
  tile_gpu.tcgen05_copy_scales {copied}%v -> %tv : {right} -> {right_copy}
  tile_gpu.tcgen05_mma_scaled pair %x, %y scaled %tu, %tv into %d accumulate %yes : \
{p}, {q}, {left_copy}, {right_copy} -> {sums}
"""


def test_scaled_pair_round_trips() -> None:
    text = stage_module_text(module(scaled()))
    assert "tcgen05_mma_scaled pair " in text and "tcgen05_copy_scales pair " in text
    assert stage_module_text(read_stage_module(text, "<k>")) == text


def test_multicast_round_trips() -> None:
    text = stage_module_text(module(OPERANDS + "  %x, %y = tile_gpu.put_begin %c : !operands\n" + LOAD, across=CLUSTER))
    assert "multicast -> " in text
    assert stage_module_text(read_stage_module(text, "<k>")) == text


def test_joined_programs_round_trip() -> None:
    load = LOAD.replace("multicast", "multicast along 1 if %yes")
    put = "  %x, %y = tile_gpu.put_begin %c : !operands\n"
    text = stage_module_text(module(OPERANDS + put + load, "joined_programs 2 ", CLUSTER))
    assert "warps 4 joined_programs 2 {" in text and "multicast along 1 if %" in text
    assert stage_module_text(read_stage_module(text, "<k>")) == text


REFUSALS = {
    "three joined programs": (
        ("", "joined_programs 3 ", ""),
        "joined_programs must be one of: 1, 2, 4, 8, but got 3",
    ),
    "joined programs of several CTAs": (
        ("", "cluster 2 joined_programs 2 ", ""),
        "a cluster has either one tile block or several, but got cluster 2 and joined_programs",
    ),
    "pair of joined programs": (
        (OPERANDS, "joined_programs 2 ", "across pair "),
        "across pair needs a kernel with a cluster",
    ),
    "multicast of joined programs without a condition": (
        (OPERANDS + "  %x, %y = tile_gpu.put_begin %c : !operands\n" + LOAD, "joined_programs 2 ", CLUSTER),
        "expected a condition for a multicast if and only if the cluster has several tile blocks",
    ),
    "parts along a coordinate that the map does not have": (
        (
            OPERANDS
            + "  %x, %y = tile_gpu.put_begin %c : !operands\n"
            + LOAD.replace("multicast", "multicast along 2 if %yes"),
            "joined_programs 2 ",
            CLUSTER,
        ),
        "expected parts along one of the coordinates 1 to 1, but got 2",
    ),
    "condition without a multicast": (
        (
            OPERANDS + "  %x, %y = tile_gpu.put_begin %c : !operands\n" + LOAD.replace("multicast", "along 1 if %yes"),
            "joined_programs 2 ",
            CLUSTER,
        ),
        "expected a condition of a multicast, with the coordinate along which its parts follow each other",
    ),
    "three CTAs": (("", "cluster 3 ", ""), "cluster must be one of: 1, 2, 4, 8, but got 3"),
    "channel without a cluster": ((OPERANDS, "", CLUSTER), "across cluster needs a kernel with a cluster"),
    "pair without a multiply": (
        (OPERANDS.replace("[mma]", "[threads]"), "cluster 2 ", "across pair "),
        "across pair joins tma or threads to mma, or mma to threads, but got tma and ['threads']",
    ),
    "cluster without TMA": (
        (SUMS, "cluster 2 ", CLUSTER),
        "across cluster joins tma to threads, mma and wgmma, or claims to threads and warps, but got mma and",
    ),
    "scale factors": (
        (OPERANDS.replace("!operands", "channel<[!scales]>"), "cluster 2 ", CLUSTER),
        "across cluster has no scale factors",
    ),
    "multicast in one CTA": (
        (OPERANDS + "  %x, %y = tile_gpu.put_begin %c : !operands\n" + LOAD, "cluster 2 ", ""),
        "expected a channel across cluster or pair for a multicast",
    ),
    "multicast of other parts": (
        (OPERANDS + "  %x, %y = tile_gpu.put_begin %c : !operands\n" + LOAD, "cluster 4 ", CLUSTER),
        "expected a buffer of whole boxes [64, 64] of each of 4 CTAs, but got buffer<128x64xf16",
    ),
    "multiply of a pair with whole operands": (
        (OPERANDS + SUMS + SLOTS + WHOLE, "cluster 2 ", "across pair "),
        "expected MxK, KxN/2 and MxN for a pair, but got (128, 64), (64, 128) and (128, 128)",
    ),
    "channel of one CTA for a pair": (
        (OPERANDS + SUMS + SLOTS + MULTIPLY, "cluster 2 ", ""),
        "a channel from or to mma is across pair if the multiplies are those of pairs",
    ),
    "multiply of a pair in one CTA": (
        (OPERANDS + SUMS + SLOTS + MULTIPLY, "", ""),
        "a multiply of a pair needs a kernel with a cluster",
    ),
    "parts of another number of CTAs": (
        (GATHER.format(2), "cluster 4 ", ""),
        "expected parts of 4 CTAs, but got tensor<2xi32",
    ),
    "parts in a kernel with roles": (
        (GATHER.format(2) + "  tile_gpu.roles compute warps 4 { } load warps 1 { }\n", "cluster 2 ", ""),
        "gather_parts needs a kernel without roles",
    ),
    "parts of other elements": (
        (GATHER.format(2).replace("xi32", "xf32"), "cluster 2 ", ""),
        "expected the elements and the extents of the source after the first, but got i32 and tensor<2xf32",
    ),
    "64 rows of a pair in other lanes": (
        ((NARROW_SUMS + NARROW).replace("lanes=128 halves", "lanes=64"), "cluster 2 ", "across pair "),
        "expected halves of 64 rows for a pair alone, but got buffer<64x128xf32, tensor, lanes=64>",
    ),
    "halves without a pair": (
        (NARROW_SUMS + NARROW.replace("pair ", ""), "cluster 2 ", "across pair "),
        "expected halves of 64 rows for a pair alone, but got buffer<64x128xf32, tensor, lanes=128 halves>",
    ),
    "halves with lhs in tensor memory": (
        (
            NARROW_SUMS
            + OPERANDS.replace("%c", "%l")
            .replace("producer tma", "producer threads")
            .replace("!operands", "channel<[!l]>")
            + "  %z = tile_gpu.put_begin %l : channel<[!l]>\n"
            + NARROW.replace("%x, %y", "%z, %y").replace(": !b, !b", ": !l, !b"),
            "cluster 2 ",
            "across pair ",
        ),
        "expected lhs in shared memory for an accumulator in halves, but got buffer<64x64xf16, tensor, lanes=64",
    ),
    "rows that a multiply of a pair moves": (
        (
            OPERANDS
            + SUMS
            + SLOTS
            + OPERANDS.replace("%c", "%l")
            .replace("producer tma", "producer threads")
            .replace("!operands", "channel<[!m]>")
            + "  %z = tile_gpu.put_begin %l : channel<[!m]>\n"
            + MULTIPLY.replace("%x, %y", "%z, %y").replace("%yes :", "%yes ashift :").replace("!a, !b", "!m, !b"),
            "cluster 2 ",
            "across pair ",
        ),
        "a multiply of a pair moves no rows",
    ),
    "columns of a pair": (
        (
            OPERANDS.replace("!operands", "channel<[!a, !e]>")
            + SUMS.replace("!d", "!f")
            + SLOTS.replace("!operands", "channel<[!a, !e]>").replace("!d", "!f")
            + MULTIPLY.replace("!b -> !d", "!e -> !f"),
            "cluster 2 ",
            "across pair ",
        ),
        "expected 64 rows or blocks of 128 by up to 256 columns, a multiple of 32, but got (128, 16)",
    ),
    "64 rows of a scaled pair": (
        (scaled(rows=64), "cluster 2 ", "across pair "),
        "expected blocks of 128 rows by up to 256 columns, a multiple of 32, but got (64, 128)",
    ),
    "factors of half of the columns": (
        (scaled(columns=64), "cluster 2 ", "across pair "),
        "expected scale factors MxS and SxN, but got (128, 4) and (4, 64)",
    ),
    "copies of one CTA for a pair": (
        (scaled(copied=""), "cluster 2 ", "across pair "),
        "either all multiplies of tcgen05 in a kernel are those of pairs, or none",
    ),
    "multicast of few rows": (
        (
            OPERANDS
            + '  %m = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 4] swizzle 128B fill zero\n'
            + "  %x, %y = tile_gpu.put_begin %c : !operands\n"
            + LOAD.replace("%map", "%m"),
            "cluster 4 ",
            CLUSTER,
        ),
        "expected a part of a multiple of 8 rows for a multicast, but got box [64, 4]",
    ),
    "gather in a cluster": (
        (
            OPERANDS
            + '  %m = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 1] swizzle 128B fill zero\n'
            + "  %x, %y = tile_gpu.put_begin %c : !operands\n  %r = tile_gpu.shared : !rows\n"
            + "  tile_gpu.tma_gather %m[%n] rows %r -> %x of %c : !rows -> !a\n",
            "cluster 2 ",
            CLUSTER,
        ),
        "expected a channel of one CTA for a gather, but got across cluster",
    ),
    "both kinds of multiplies": (
        (OPERANDS + SUMS + SLOTS + MULTIPLY + ONE, "cluster 2 ", "across pair "),
        "either all multiplies of tcgen05 in a kernel are those of pairs, or none",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_invalid_cluster_is_rejected(name: str) -> None:
    (body, cluster, across), message = REFUSALS[name]
    with pytest.raises(VerificationError) as caught:
        module(body, cluster, across)
    assert message in caught.value.message
