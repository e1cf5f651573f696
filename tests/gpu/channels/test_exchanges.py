"""What threads exchange: the scratch memory for it, and whether warpgroups wait for each other."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tilec as ct
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, operations_named
from tilec.driver.stages import compile as compile_entry
from tilec.lowering.gpu.ir.scratch_use import (
    SCRATCH_RESERVE_BYTES,
    SLOT_BYTES,
    SLOTS,
    independent_warpgroups,
    scratch_bytes,
)
from tilec.lowering.gpu.memory.shared_plan import memory_plan


@ct.kernel
def attention(q, k, v, o, width: ct.Constant[int]) -> None:
    query = ct.load(q, (ct.bid(0), 0), (128, width))
    largest = ct.full((128, 1), -1e30, ct.float32)
    total = ct.zeros((128, 1), ct.float32)
    result = ct.zeros((128, width), ct.float32)
    for block in range(ct.cdiv(k.shape[0], 128)):
        keys = ct.load(k, (block, 0), (128, width))
        scores = ct.mma(query, ct.transpose(keys), ct.zeros((128, 128), ct.float32))
        larger = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - larger)
        scale = ct.exp2(largest - larger)
        total = total * scale + ct.sum(weights, axis=1, keepdims=True)
        result = ct.mma(weights.astype(ct.float16), ct.load(v, (block, 0), (128, width)), result * scale)
        largest = larger
    ct.store(o, (ct.bid(0), 0), (result / total).astype(ct.float16))


def last_of(element, accumulator):
    """The last element that is not zero: the order of elements counts."""
    return ct.where(element == 0.0, accumulator, element)


@ct.kernel
def multiply_and_reduce(a, b, c, in_order: ct.Constant[bool]) -> None:
    """Each iteration multiplies a row of tiles, and reduces the rows of the product."""
    total = ct.zeros((128, 1), ct.float32)
    for block in range(ct.cdiv(b.shape[1], 128)):
        left, right = ct.load(a, (ct.bid(0), 0), (128, 64)), ct.load(b, (0, block), (64, 128))
        product = ct.mma(left, right, ct.zeros((128, 128), ct.float32))
        if in_order:
            total = total + ct.reduce(product, 1, last_of, 0.0, keepdims=True)
        else:
            total = total + ct.sum(product, axis=1, keepdims=True)
    ct.store(c, (ct.bid(0), 0), total)


@ct.kernel
def gated_states(Q, K, W, U, G, Y):
    """A gated delta rule, whose three chains of tiles load the gates of rows and exchange them."""
    state = ct.zeros((128, 128), ct.float32)
    for j in range(ct.num_tiles(Q, axis=0, shape=(64, 128))):
        q, k = ct.load(Q, (j, 0), (64, 128)), ct.load(K, (j, 0), (64, 128))
        w, u = ct.load(W, (j, 0), (64, 128)), ct.load(U, (j, 0), (64, 128))
        gate, zero = ct.load(G, (0, j), (1, 64)).reshape((64,)), ct.zeros((64, 128), ct.float32)
        read = state.astype(ct.float16)
        left = (u.astype(ct.float32) - ct.mma(w, read, zero)).astype(ct.float16)
        scores = ct.mma(q, ct.transpose(k), ct.zeros((64, 64), ct.float32)) * ct.exp2(gate[:, None] - gate[None, :])
        result = ct.mma(q, read, zero) * ct.exp2(gate)[:, None] + ct.mma(scores.astype(ct.float16), left, zero)
        ct.store(Y, (j, 0), result)
        state = ct.mma(ct.transpose((k.astype(ct.float32) * ct.exp2(gate)[:, None]).astype(ct.float16)), left, state)


MATRIX = "f16[?,?] strides (?,1)"
ATTENTION = f"q: {MATRIX}, k: {MATRIX}, v: {MATRIX}, o: f16[?,?%8], width="
PRODUCT = f"a: {MATRIX}, b: {MATRIX}, c: f32[?,?%4], in_order="


def module_of(kernel: Any, signature: str, target: str, **options: Any) -> ir.Module:
    stage = compile_entry(kernel, signature=signature, target=target, stop="gpu", **options).stage("gpu")
    assert stage is not None
    return stage.value


def kernel_of(module: ir.Module) -> Any:
    (found,) = operations_named(module, ("tile_gpu.kernel",))
    return found


def loop_of(kernel: Any) -> Any:
    """The loop that multiplies."""
    loops = [op for op in operations_below(kernel) if op.operation.name == "scf.for"]
    return next(loop for loop in loops if any(op.operation.name == "tile_gpu.wgmma" for op in operations_below(loop)))


def test_roles_that_exchange_little_share_a_reserve() -> None:
    """Three roles exchange 64 gates each, for which the memory of three reserves would be three slots of a ring."""
    rows = "f16[?,?%8]"
    signature = f"Q: {rows}, K: {rows}, W: {rows}, U: {rows}, G: f32[?,?%4], Y: f32[?,?%4]"
    module = module_of(gated_states, signature, "sm_90a")
    kernel = kernel_of(module)
    assert sum(name.startswith("compute") for name in kernel.roles.bodies) == 3
    assert scratch_bytes(kernel) == SCRATCH_RESERVE_BYTES


@pytest.mark.parametrize("width", [64, 128])
def test_rows_of_wgmma_need_no_scratch_memory(width: int) -> None:
    """A quad of threads has each row of the sums: shuffles reduce it, in any order."""
    module = module_of(attention, ATTENTION + str(width), "sm_90a")
    assert scratch_bytes(kernel_of(module)) == 0


def test_rows_in_order_need_scratch_memory() -> None:
    module = module_of(multiply_and_reduce, PRODUCT + "True", "sm_90a")
    assert scratch_bytes(kernel_of(module)) > 0


@pytest.mark.parametrize(("in_order", "groups"), [(False, 2), (True, 1)])
def test_warpgroups_wait_for_each_other_in_exchanges(in_order: bool, groups: int) -> None:
    module = module_of(multiply_and_reduce, f"{PRODUCT}{in_order}", "sm_90a", hints={"warps": 8})
    assert independent_warpgroups(loop_of(kernel_of(module)), 8) == groups


def test_warpgroups_of_attention_are_independent() -> None:
    """No barrier of the block or of a role is in the loop, in the code either; those of single warpgroups may be."""
    compiled = compile_entry(attention, signature=ATTENTION + "64", target="sm_90a")
    assert independent_warpgroups(loop_of(kernel_of(compiled.stage("gpu").value)), 8) == 2
    lines = compiled.ptx.splitlines()
    exponentials = [number for number, line in enumerate(lines) if "ex2.approx" in line]
    barriers = [number for number, line in enumerate(lines) if re.search(r"bar\.sync [01]\b", line)]
    assert barriers and not [number for number in barriers if exponentials[0] < number < exponentials[-1]]


@ct.kernel
def reduce_beside_products(x, s, a, b, c, scans: ct.Constant[bool]) -> None:
    """Warps exchange the parts of a reduction, or the elements of a scan, and rings have the other shared memory."""
    if scans:
        ct.store(s, (0, 0), ct.cumsum(ct.permute(ct.load(x, (0, 0), (128, 64)), (1, 0)), 0))
    else:
        parts = ct.reshape(ct.load(x, (0, 0), (256, 32)), (4, 64, 32))
        ct.store(s, (0, 0), ct.sum(parts, 0))
    total = ct.zeros((128, 16), ct.float32)
    for block in range(ct.cdiv(a.shape[1], 64)):
        total = ct.mma(ct.load(a, (0, block), (128, 64)), ct.load(b, (block, 0), (64, 16)), total)
    ct.store(c, (0, 0), total)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("scans", "needed"), [(False, 65536), (True, 32768)])
def test_rings_leave_the_scratch_memory_of_reductions_and_scans(scans: bool, needed: int, target: str) -> None:
    """Here 2,048 sums of 8 bytes of each of four warps, or half of 8,192 elements, which can be divided once."""
    matrices = "x: f64[?,?%32], s: f64[?,?%32], a: f16[?,?%8], b: f16[?,?%8], c: f32[?,?%4]"
    compiled = compile_entry(reduce_beside_products, signature=f"{matrices}, scans={scans}", target=target)
    assert scratch_bytes(kernel_of(compiled.stage("gpu").value)) == needed


@ct.kernel
def multiply_page(pages, a, b, c) -> None:
    """Tiles of one element, which all threads load, are numbers of tiles."""
    total = ct.zeros((128, 128), ct.float32)
    for block in range(ct.load(pages, (0, 0), (1, 1)).item()):
        page = ct.load(pages, (1, block), (1, 1)).item()
        total = ct.mma(ct.load(a, (0, block), (128, 64)), ct.load(b, (page, 0), (64, 128)), total)
    ct.store(c, (0, 0), total)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_tiles_of_one_element_need_no_scratch_memory(target: str) -> None:
    """The rings have all shared memory."""
    signature = f"pages: i32[?,?], a: {MATRIX}, b: {MATRIX}, c: f32[?,?%4]"
    module = module_of(multiply_page, signature, target)
    assert operations_named(module, ("tile_gpu.extract",))
    assert scratch_bytes(kernel_of(module)) == 0


@ct.kernel
def exponentials_of_columns(a, b, s, c) -> None:
    """Lanes exchange the 128 exponentials of a row."""
    total = ct.zeros((128, 128), ct.float32)
    for block in range(ct.num_tiles(a, 1, (128, 64))):
        left, right = ct.load(a, (0, block), (128, 64)), ct.load(b, (block, 0), (64, 128))
        factors = ct.exp2(ct.load(s, (block, 0), (1, 128)))
        total = total + ct.mma(left, right, ct.zeros((128, 128), ct.float32)) * factors
    ct.store(c, (0, 0), total)


def test_small_exchanges_of_one_role_need_two_slots() -> None:
    """The slots of one role, half of the reserve: what the code uses, and rings have the other memory."""
    signature = f"a: {MATRIX}, b: {MATRIX}, s: f32[?,?%4], c: f32[?,?%4]"
    compiled = compile_entry(exponentials_of_columns, signature=signature, target="sm_90a", stop="ptx")
    kernel = kernel_of(compiled.stage("gpu").value)
    assert scratch_bytes(kernel) == SLOTS * SLOT_BYTES == SCRATCH_RESERVE_BYTES // 2
    plan = memory_plan(kernel)
    assert plan.declared_bytes < compiled.metadata.shared_bytes <= plan.bytes_with(SLOTS * SLOT_BYTES)
