"""Sizes that the lowering chooses: slots of rings, accumulators in tensor memory, bytes of an access, warps.

Each is a number in a stage dump or in PTX. The sizes affect performance: a change of a size needs a reason.
"""

from __future__ import annotations

import re

import pytest

import tilec as ct

TARGETS = ("sm_100a", "sm_90a")


@ct.kernel
def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        acc = ct.mma(ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(C, (ct.bid(0), 0), acc.astype(C.dtype))


@ct.kernel
def matmul_sums(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """The product, and the sums of its columns in the row below it."""
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        acc = ct.mma(ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(C, (ct.bid(0), 0), acc.astype(C.dtype))
    ct.store(C, (ct.num_tiles(A, 0, (1, tk)), 0), ct.sum(acc, 0, keepdims=True).astype(C.dtype))


@ct.kernel
def persistent(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    for tile in range(ct.bid(0), ct.num_tiles(A, 0, (tm, tk)), ct.num_blocks(0)):
        acc = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.num_tiles(A, 1, (tm, tk))):
            acc = ct.mma(ct.load(A, (tile, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
        ct.store(C, (tile, 0), acc.astype(C.dtype))


@ct.kernel
def copied(x, y, tile: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) + ct.load(x, (ct.bid(0),), (tile,)))


@ct.kernel
def ramp(y, tile: ct.Constant[int]):
    numbers = ct.arange(tile, dtype=ct.int32)
    ct.store(y, (ct.bid(0),), numbers * numbers)


def bytes_of_accesses(ptx: str) -> set[int]:
    """The sizes of all loads and stores of global memory."""
    accesses = re.findall(r"(?:ld|st)\.global\S*?(?:\.v(\d))?\.[a-z]+(\d+) ", ptx)
    return {int(count or 1) * int(bits) // 8 for count, bits in accesses}


def stages(kernel: object, tile: tuple[int, int, int], target: str, **hints: int) -> list[tuple[str, int]]:
    """The producer and the number of slots of each ring of an f16 matmul."""
    signature = "A: f16[?,?], B: f16[?,?], C: f16[?,?%8], tm={}, tn={}, tk={}".format(*tile)
    text = ct.compile(kernel, target=target, signature=signature, hints=hints, stop="gpu").gpu
    rings = re.findall(r"tile_gpu\.make_channel stages (\d+) producer (\w+) .*reuse ring", text)
    return [(producer, int(slots)) for slots, producer in rings]


# 227 KB contain A and B of each slot, and the part of a tile that is stored at a time.
@pytest.mark.parametrize(
    ("tile", "hints", "slots"),
    [
        ((128, 128, 64), {}, 6),
        ((128, 128, 64), {"stages": 16}, 6),
        ((64, 64, 64), {"stages": 16}, 13),
        ((128, 128, 128), {}, 3),
        ((128, 256, 64), {}, 4),
        ((128, 128, 64), {"stages": 2}, 2),
    ],
)
@pytest.mark.parametrize("target", TARGETS)
def test_slots_of_a_ring(tile, hints, slots, target):
    assert [number for producer, number in stages(matmul, tile, target, **hints) if producer == "tma"] == [slots]


# On sm_90a the tile is computed in parts of 128 rows, whose slots are smaller.
@pytest.mark.parametrize(("target", "slots"), [("sm_100a", 3), ("sm_90a", 4)])
def test_slots_of_a_ring_of_large_tiles(target, slots):
    found = stages(matmul, (256, 256, 64), target, num_ctas=1)
    assert [number for producer, number in found if producer == "tma"] == [slots]


# Sums over rows of several warps need scratch: 8 KB are left for it, two slots of the role that computes. Without them,
# there would be 13 slots of 16 KB in both cases.
@pytest.mark.parametrize(("tile", "slots"), [((64, 64, 64), 13), ((128, 128, 32), 12)])
@pytest.mark.parametrize("target", TARGETS)
def test_slots_leave_room_for_scratch(tile, slots, target):
    found = stages(matmul_sums, tile, target, stages=16)
    assert [number for producer, number in found if producer == "tma"] == [slots]


# 512 columns of tensor memory hold two accumulators of up to 256 columns: one is stored while the other is computed.
# A block of a pair has 128 of 256 rows.
@pytest.mark.parametrize(
    ("tile", "hints", "slots"),
    [
        ((128, 64, 64), {}, 2),
        ((128, 256, 64), {}, 2),
        ((256, 256, 64), {"num_ctas": 1}, 1),
        ((256, 256, 64), {}, 2),
    ],
)
def test_accumulators_of_a_loop_over_tiles(tile, hints, slots):
    rings = stages(persistent, tile, "sm_100a", **hints)
    assert [number for producer, number in rings if producer == "mma"] == [slots]


@pytest.mark.parametrize("element", ["i8", "f16", "f32", "f64"])
@pytest.mark.parametrize("target", TARGETS)
def test_accesses_have_16_bytes(element, target):
    signature = f"x: {element}[4096], y: {element}[4096], tile=4096"
    ptx = ct.compile(copied, target=target, signature=signature, stop="ptx", hints={"tma": False}).ptx
    assert bytes_of_accesses(ptx) == {16}, ptx


# The layout of the tile is not determined by a load.
@pytest.mark.parametrize("target", TARGETS)
def test_stores_of_a_computed_tile_have_16_bytes(target):
    ptx = ct.compile(ramp, target=target, signature="y: i32[4096], tile=4096", stop="ptx", hints={"tma": False}).ptx
    assert bytes_of_accesses(ptx) == {16}, ptx


# 16 warps have no more registers in all than 8, which have 255 each.
@pytest.mark.parametrize(("tile", "warps"), [(4096, 4), (32768, 8), (65536, 8)])
def test_large_tiles_use_more_warps(tile, warps):
    signature = f"x: f32[{tile}], y: f32[{tile}], tile={tile}"
    text = ct.compile(copied, target="sm_100a", signature=signature, stop="gpu-raw").stage("gpu-raw").text
    assert f" warps {warps} " in text
