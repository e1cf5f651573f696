"""Estimates of remarks: shares of the kernel by hand, from the cycles of the units and the norm that combines them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cost_kernels
import pytest
from remark_kernels import converted, product_with_itself

import tilec as ct
from tilec.dialect.location import source_location
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_inside, operations_named
from tilec.errors import SourceLocation
from tilec.explain.cost import kernel_costs
from tilec.explain.modeled_kernel import ModeledKernel
from tilec.explain.remark_estimates import _CHANGES, estimated
from tilec.lowering.gpu.ir.enclosing import is_repeated
from tilec.lowering.model.step import CHAIN, RING
from tilec.remarks import LOSSES, Loss, Remark

TARGETS = ("sm_100a", "sm_90a")


def norm(*cycles: float) -> float:
    """The cycles of units that work at the same time: the 8-norm (docs/cost_model.md)."""
    return float(sum(each**8 for each in cycles) ** (1 / 8))


def percent(compiled: Any, message: str) -> float:
    """The estimate of the only remark with this text."""
    (found,) = [remark for remark in compiled.all_remarks if message in remark.message]
    assert found.percent is not None
    return float(found.percent)


@ct.kernel
def matmul(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        acc = ct.mma(ct.load(A, (0, k), (TM, TK)), ct.load(B, (k, 0), (TK, TN)), acc)
    ct.store(C, (0, 0), acc)


def test_f32_multiply_could_use_the_tensor_pipe():
    """B200, 64x64x32: 1024 cycles of the FMA pipe; as tf32 128 of the tensor pipe, 256 of its port and 231 of L2.

    128 multiply-adds per cycle; 16 KB of operands at 71 bytes of L2 and 128 bytes of the port, which writes and reads
    them. The FMA instructions take 612 issue slots. 2048 iterations make the cycles outside of the loop small.
    """
    signature = "A: f32[64,65536], B: f32[65536,64], C: f32[64,64], TM=64, TN=64, TK=32"
    compiled = ct.compile(matmul, signature=signature, target="sm_100a", stop="gpu")
    multiply_adds, operands = 64 * 64 * 32, 2 * 64 * 32 * 4
    threads = norm(multiply_adds / 128, operands / 71, 2 * operands / 128, 612)
    tensor = norm(128, operands / 71, 2 * operands / 128)
    assert percent(compiled, "the multiply is done by fma") == pytest.approx(100 * (1 - tensor / threads), abs=2)


def test_ring_of_one_slot_costs_what_its_latency_exceeds_the_port():
    """B200: TMA writes 128 KB, the multiply reads it as both operands, and threads once: 4096 cycles of 128 bytes.

    One slot adds 5116 cycles: the load, 1024 cycles of its reads by threads, and barriers.
    """
    signature = "A: f16[64,65536], C: f32[64,64], D: f32[64,1]"
    compiled = ct.compile(product_with_itself, signature=signature, target="sm_100a", stop="gpu")
    port = 4 * 128 * 1024 / 128
    lost = percent(compiled, "shared memory has room for one slot")
    assert lost == pytest.approx(100 * (1 - port / norm(port, 5116)), abs=0.5)
    # Beside it the store of 64 sums costs nothing.
    assert [remark.topic for remark in compiled.remarks] == ["pipeline"]
    assert percent(compiled, "the store does not use TMA") < 0.01


def test_epilogue_that_is_not_hidden_is_lost():
    """A tile of 128x512: 64 iterations of 670 cycles, and an epilogue of 4559 cycles, beside which none runs."""
    signature = "A: f16[?,?], B: f16[?,?], C: f16[?,?%8], TM=128, TN=512, TK=64"
    compiled = ct.compile(cost_kernels.persistent, signature=signature, target="sm_100a", stop="gpu")
    lost = percent(compiled, "multiplies of the next tile wait for the epilogue")
    assert lost == pytest.approx(100 * 4559 / (64 * 670 + 4559), abs=0.1)


CONVERTED = "A: f32[?,?] strides (65,1), B: f32[?,?] strides (65,1), C: f32[?,?%4]"


def test_operands_that_threads_convert_have_twice_the_bytes():
    """B200: L2 reads 64 KB of f32 at 71 bytes per cycle. Operands of f16 have half of the bytes."""
    compiled = ct.compile(converted, signature=CONVERTED, target="sm_100a", stop="gpu")
    read = 2 * 128 * 64 * 4 / 71
    # Threads: 640 operations of the ALU, 476 issue slots, and 512 cycles of the port.
    present, other = norm(read, 640, 476, 512), norm(read / 2, 512, 256)
    for side in ("left", "right"):
        message = f"TMA does not load the {side} operand"
        assert percent(compiled, message) == pytest.approx(100 * (1 - other / present), abs=2)


def test_estimates_are_sorted_and_equal_remarks_are_one():
    """The remark about the ring of operands is the same for both operands of a multiply."""
    compiled = ct.compile(converted, signature=CONVERTED, target="sm_90a", stop="gpu")
    found = [remark.percent for remark in compiled.all_remarks]
    assert found == sorted(found, reverse=True) and found[0] > 40 and found[-1] < 1
    messages = [(remark.message, remark.location) for remark in compiled.all_remarks]
    assert len(set(messages)) == len(messages)
    assert compiled.remarks == tuple(remark for remark in compiled.all_remarks if remark.percent >= 1)


@ct.kernel
def doubled(X, Y, N: ct.Constant[int]):
    for i in range(ct.num_tiles(X, 0, (N,))):
        tile = ct.load(X, (i,), (N,), latency=3, allow_tma=False)
        ct.store(Y, (i,), tile * 2, latency=3)


@pytest.mark.parametrize("target", TARGETS)
def test_latency_that_other_blocks_hide_is_silent(target):
    """16 blocks of an SM load 4 KB each: HBM is the bound, and no thread could do better."""
    signature = "X: f32[1048576], Y: f32[1048576], N=1024"
    compiled = ct.compile(doubled, signature=signature, target=target, stop="gpu")
    assert compiled.remarks == ()
    hints = [remark for remark in compiled.all_remarks if remark.topic == "hint"]
    # The store has no slots to deepen: its latency has no remark.
    assert [remark.message for remark in hints] == ["latency=3 is not followed: threads load the tile, not TMA"]
    assert hints[0].percent == 0


@ct.kernel
def beside_products(A, B, X, Y):
    total = ct.zeros((128, 128), ct.float32)
    for k in range(1024):
        product = ct.mma(ct.load(A, (0, k), (128, 64)), ct.load(B, (k, 0), (64, 128)), ct.zeros((128, 128), ct.float32))
        total = total + product * ct.load(X, (0, k), (128, 128), allow_tma=False).astype(ct.float32)
    ct.store(Y, (0, 0), total)


# The bytes of L2 per element of 16 bits: a sector has 32 bytes, which one element or several adjacent ones need.
@pytest.mark.parametrize(("strides", "read"), [("(131072,1)", 2), ("(1,128)", 2), ("(16,2097152)", 32), ("(4,512)", 8)])
@pytest.mark.parametrize("target", TARGETS)
def test_elements_that_are_not_adjacent_have_sectors_of_their_own(target, strides, read):
    """TMA would read only the bytes of the elements, because it needs rows of adjacent elements.

    L2 reads 512 KB of X and 32 KB of operands. If L2 is the bound, the time of all but 64 KB is lost. Without the
    load, the multiply and the threads take at most 2700 cycles.
    """
    signature = f"A: f16[128,65536], B: f16[65536,128], X: f16[128,131072] strides {strides}, Y: f32[128,128]"
    compiled = ct.compile(beside_products, signature=signature, target=target, stop="gpu")
    (kernel,) = operations_named(compiled.stage("gpu").value, (KernelOp.OPERATION_NAME,))
    (load,) = (op for op in operations_inside(kernel) if op.name == "tile_gpu.load_view" and is_repeated(op))
    moved = ModeledKernel(kernel, target).known[load].l2_bytes
    assert moved == read * 128 * 128
    message = "the load does not use TMA: hint allow_tma=False"
    if read == 32:
        present = (512 + 32) * 1024 / {"sm_100a": 71, "sm_90a": 52}[target]
        assert 1 - 2700 / present < percent(compiled, message) / 100 < 1 - (32 + 32) / (512 + 32)


@pytest.mark.parametrize("target", TARGETS)
def test_elements_at_unknown_strides_may_be_adjacent(target):
    """Nothing is known about the sectors: the remark stays, without an estimate."""
    signature = "A: f16[128,65536], B: f16[65536,128], X: f16[?,?] strides (?,?), Y: f32[128,128]"
    compiled = ct.compile(beside_products, signature=signature, target=target, stop="gpu")
    (found,) = [remark for remark in compiled.remarks if remark.message.startswith("the load does not use TMA")]
    assert found.estimate == "no estimate" and "[tma, no estimate]" in str(found)


@ct.kernel
def indirect(Next, X, Z, Y):
    total = ct.zeros((128,), ct.float32)
    for i in range(1024):
        j = ct.load(Next, (i,), (1,), allow_tma=False).item()
        total = total * ct.load(X, (j,), (128,), allow_tma=False) + ct.load(Z, (i,), (128,), allow_tma=False)
    ct.store(Y, (0,), total)


@pytest.mark.parametrize("target", TARGETS)
def test_only_a_load_whose_index_is_loaded_waits_for_another_one(target):
    signature = "Next: i32[?], X: f32[?], Z: f32[?], Y: f32[?]"
    compiled = ct.compile(indirect, signature=signature, target=target, stop="gpu")
    (kernel,) = operations_named(compiled.stage("gpu").value, (KernelOp.OPERATION_NAME,))
    model = ModeledKernel(kernel, target)
    columns = {source_location(op.location).column for op in model.dependent}
    lines = Path(__file__).read_text().splitlines()
    (line,) = (each for each in lines if each.startswith("        total = total * ct.load(X, (j,)"))
    assert columns == {line.index("ct.load(X") + 1} and len(model.waiting) > len(model.dependent)


@ct.kernel
def counted(Count):
    for _ in range(1000):
        ct.atomic_add(Count, 0, 1)


@pytest.mark.parametrize(("target", "latency"), [("sm_100a", 300), ("sm_90a", 280)])
def test_wait_for_an_unused_result_of_an_atomic_is_lost(target, latency):
    """16 blocks of an SM share the latency of L2. Without the wait, each of four warps issues one instruction."""
    compiled = ct.compile(counted, signature="Count: i32[1]", target=target, stop="gpu")
    lost = percent(compiled, "nothing uses the result of the atomic")
    assert lost == pytest.approx(100 * (1 - 1 / (latency / 16)), abs=5)


def location_of(text: str) -> SourceLocation:
    """The location of the first occurrence of the text in this file, which is in `matmul` or `four_products`."""
    before = Path(__file__).read_text().partition(text)[0]
    return SourceLocation(__file__, before.count("\n") + 1, len(before) - before.rfind("\n"))


MULTIPLY, LEFT, RIGHT = map(location_of, ("ct.mma(ct.load(A", "ct.load(A, (0, k)", "ct.load(B, (k, 0)"))
WIDE = "A: f16[128,65536], B: f16[65536,256], C: f32[128,256], TM=128, TN=256, TK=64"


def lost(compiled: Any, loss: Loss, location: SourceLocation | None = None) -> float:
    """The estimate of a loss at a location."""
    remark = Remark("tma", "message", location, loss)
    (found,) = estimated([remark], compiled.stage("gpu").value, compiled.target)
    assert found.percent is not None
    return float(found.percent)


# H200, 128x256x64: 1024 cycles of the tensor pipe, whose port reads 640, and 48 KB at 52 bytes per cycle of L2.
KILOBYTE = 1024 / 52
PRESENT = (1024, 48 * KILOBYTE, 640)


@pytest.mark.parametrize(
    ("loss", "location", "other"),
    [
        (Loss("half"), MULTIPLY, (512, 48 * KILOBYTE, 320)),
        (Loss("multicast"), RIGHT, (1024, (16 + 32 / 2) * KILOBYTE, 640)),
        (Loss("parts", count=4), LEFT, (1024, (16 / 4 + 32) * KILOBYTE, 640)),
        (Loss("parts", (RIGHT,), 4), MULTIPLY, (1024, (16 + 32 / 4) * KILOBYTE, 640)),
        # wgmma does the multiply already, and nothing moves its operands.
        (Loss("unit"), MULTIPLY, PRESENT),
        (Loss("steps"), MULTIPLY, PRESENT),
        (Loss("rings"), None, PRESENT),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_loss_of_a_loop_bound_by_the_tensor_pipe(loss, location, other):
    compiled = ct.compile(matmul, signature=WIDE, target="sm_90a", stop="gpu", hints={"multicast": False})
    expected = 100 * (1 - norm(*other) / norm(*PRESENT))
    # The cycles outside of the loop are 0.3 % of the kernel.
    assert lost(compiled, loss, location) == pytest.approx(expected, abs=0.3)


@ct.function
def product_of(a, b, acc):
    return ct.mma(a, b, acc)


@ct.kernel
def four_products(A, B, C):
    acc = ct.zeros((128, 256), ct.float32)
    for k in range(1024):
        a, b = ct.load(A, (0, k), (128, 64)), ct.load(B, (k, 0), (64, 256))
        acc = product_of(a, b, product_of(a, b, product_of(a, b, product_of(a, b, acc))))
    ct.store(C, (0, 0), acc)


def test_all_multiplies_of_a_location_take_half_of_the_time():
    """Four multiplies take 4096 cycles and L2 945: the multiplies are the bound even in half of the time.

    Latencies of wgmma and of barriers, about 4 % of an iteration, stay.
    """
    signature = "A: f16[128,65536], B: f16[65536,256], C: f32[128,256]"
    compiled = ct.compile(four_products, signature=signature, target="sm_90a", stop="gpu", hints={"multicast": False})
    place = location_of("ct.mma(a, b, acc)\n\n\n@ct.kernel")
    assert lost(compiled, Loss("half"), place) == pytest.approx(50, abs=3)


@pytest.mark.parametrize("target", TARGETS)
def test_waits_of_a_ring_of_one_slot(target):
    """Without waits the loop takes the time of its units. Two blocks or two chains halve the waits.

    A slot of 192 KB leaves no room for a second block.
    """
    signature = WIDE.replace("TK=64", "TK=256")
    compiled = ct.compile(matmul, signature=signature, target=target, stop="gpu", hints={"stages": 1})
    (cost,) = kernel_costs(compiled.stage("gpu").value, target)
    (loop,) = (each.cycles for each in cost.loops if each.work.depth == 0)
    waits = {RING, CHAIN}
    units = [cycles for unit, cycles in loop.units.items() if unit not in waits]
    assert lost(compiled, Loss("roles")) == pytest.approx(100 * (1 - norm(*units) / loop.cycles), abs=1)
    halves = [loop.units[unit] / 2 for unit in waits]
    expected = 100 * (1 - norm(*units, *halves) / loop.cycles)
    assert cost.blocks_per_processor == 1
    assert lost(compiled, Loss("blocks", count=2)) == pytest.approx(expected, abs=1)
    assert lost(compiled, Loss("chains", count=2)) == pytest.approx(expected, abs=1)
    assert expected > 10


def test_loads_ahead_hide_the_part_of_their_latency():
    compiled = ct.compile(converted, signature=CONVERTED, target="sm_90a", stop="gpu")
    found = next(each for each in compiled.all_remarks if "iterations ahead" in each.message)
    part = [lost(compiled, Loss("ahead", count=count), found.location) for count in (0, 0.5, 1)]
    assert part[0] > part[1] == found.percent > part[2] == 0


@pytest.mark.parametrize("target", TARGETS)
def test_a_remark_without_a_location_has_no_estimate_of_operations(target):
    compiled = ct.compile(matmul, signature=WIDE, target=target, stop="gpu")
    module = compiled.stage("gpu").value
    for kind in ("unit", "steps", "half", "access", "operand", "parts", "multicast", "ahead", "atomic"):
        (found,) = estimated([Remark("tma", "message", None, Loss(kind, count=2))], module, target)
        assert found.percent is None and found.estimate == "no estimate"


def test_every_loss_has_an_estimate():
    assert _CHANGES.keys() == LOSSES.keys()


def test_compile_that_stops_early_has_no_estimate():
    compiled = ct.compile(converted, signature=CONVERTED, target="sm_90a", stop="gpu-raw")
    assert {remark.estimate for remark in compiled.remarks} == {"no estimate"}
