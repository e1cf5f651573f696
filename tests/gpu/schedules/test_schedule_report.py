"""The schedule of each loop of a compiled kernel: its problem, its interval now, and the interval to reach."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from attention_kernels import softmax_step

import tilec as ct
from tilec.driver.stages import compile as compile_entry
from tilec.lowering.gpu.schedule.schedule_report import LoopReport, schedule_reports
from tilec.lowering.schedule.parts import Edge
from tilec.lowering.schedule.problem_text import write_problem
from tilec.lowering.schedule.verify import verify
from tilec.signature import Signature


@ct.kernel
def multiply(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]) -> None:
    accumulator = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        left = ct.load(a, (ct.bid(0), k), (tm, tk))
        right = ct.load(b, (k, ct.bid(1)), (tk, tn))
        accumulator = ct.mma(left, right, accumulator)
    ct.store(c, (ct.bid(0), ct.bid(1)), accumulator.astype(ct.float16))


@ct.kernel
def attention(q, k, v, o) -> None:
    query = ct.load(q, (ct.bid(0), 0), (128, 128))
    largest = ct.full((128, 1), -1e30, ct.float32)
    total = ct.zeros((128, 1), ct.float32)
    result = ct.zeros((128, 128), ct.float32)
    for block in range(ct.cdiv(k.shape[0], 128)):
        keys = ct.load(k, (block, 0), (128, 128))
        scores = ct.mma(query, ct.transpose(keys), ct.zeros((128, 128), ct.float32))
        larger = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - larger)
        scale = ct.exp2(largest - larger)
        total = total * scale + ct.sum(weights, axis=1, keepdims=True)
        values = ct.load(v, (block, 0), (128, 128))
        result = ct.mma(weights.astype(ct.float16), values, result * scale)
        largest = larger
    ct.store(o, (ct.bid(0), 0), (result / total).astype(ct.float16))


@ct.kernel
def attention_of_64_columns(q, k, v, bias, o) -> None:
    query = ct.load(q, (ct.bid(0), 0), (128, 64))
    largest = ct.full((128, 1), -1e30, ct.float32)
    total = ct.zeros((128, 1), ct.float32)
    result = ct.zeros((128, 64), ct.float32)
    for block in range(ct.cdiv(k.shape[0], 128)):
        scores = ct.mma(query, ct.transpose(ct.load(k, (block, 0), (128, 64))), ct.zeros((128, 128), ct.float32))
        if bias is not None:
            scores = scores * 0.125 + ct.load(bias, (ct.bid(0), block), (128, 128)).astype(ct.float32) * 1.5
        weights, scale, largest, total = softmax_step(scores, largest, total)
        result = ct.mma(weights.astype(ct.float16), ct.load(v, (block, 0), (128, 64)), result * scale)
    ct.store(o, (ct.bid(0), 0), (result / total).astype(ct.float16))


@ct.kernel
def attention_of_two_tiles(q, k, v, o) -> None:
    """Two chains of 128 rows; the weights of each are stored, and multiplied, in two parts."""
    query = ct.load(q, (ct.bid(0), 0), (256, 128))
    largest = ct.full((256, 1), -1e30, ct.float32)
    total = ct.zeros((256, 1), ct.float32)
    result = ct.zeros((256, 128), ct.float32)
    for block in range(ct.cdiv(k.shape[0], 128)):
        scores = ct.mma(query, ct.transpose(ct.load(k, (block, 0), (128, 128))), ct.zeros((256, 128), ct.float32))
        larger = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
        weights = ct.exp2(scores - larger, flush_to_zero=True)
        scale = ct.exp2(largest - larger, flush_to_zero=True)
        total = total * scale + ct.sum(weights, axis=1, keepdims=True)
        result = ct.mma(weights.astype(ct.float16), ct.load(v, (block, 0), (128, 128)), result * scale)
        largest = larger
    ct.store(o, (ct.bid(0), 0), (result / total).astype(ct.float16))


@ct.kernel
def gathered(a, b, c) -> None:
    """A product whose left operand threads load, some iterations ahead."""
    rows, columns = ct.arange(128, dtype=ct.int32)[:, None], ct.arange(64, dtype=ct.int32)[None, :]
    accumulator = ct.zeros((128, 128), ct.float32)
    for k in range(ct.cdiv(b.shape[0], 64)):
        left = ct.gather(a, (rows, columns + 64 * k), padding_value=1)
        accumulator = ct.mma(left, ct.load(b, (k, 0), (64, 128)), accumulator)
    ct.store(c, (0, 0), accumulator)


@ct.kernel
def persistent(a, b, c) -> None:
    for tile in range(ct.bid(0), ct.cdiv(a.shape[0], 128), ct.num_blocks(0)):
        accumulator = ct.zeros((128, 128), ct.float32)
        for k in range(ct.cdiv(a.shape[1], 64)):
            accumulator = ct.mma(ct.load(a, (tile, k), (128, 64)), ct.load(b, (k, 0), (64, 128)), accumulator)
        ct.store(c, (tile, 0), accumulator.astype(ct.float16))


@ct.kernel
def in_a_row(a, b, c, d) -> None:
    """Two loops, whose loads use one ring."""
    for i in ct.static_iter(range(2)):
        accumulator = ct.zeros((128, 128), ct.float32)
        for k in range(ct.cdiv(a.shape[1], 64)):
            accumulator = ct.mma(ct.load(a, (i, k), (128, 64)), ct.load(b, (k, i), (64, 128)), accumulator)
        ct.store(c, (i, 0), accumulator.astype(ct.float16))
    for j in range(ct.cdiv(d.shape[1], 128)):
        accumulator = ct.mma(ct.load(d, (j, 0), (128, 64)), ct.load(b, (0, j), (64, 128)), accumulator)
    ct.store(c, (0, 1), accumulator.astype(ct.float16))


@ct.kernel
def scale(x, y, count: int) -> None:
    for block in range(count):
        ct.store(y, (block, 0), ct.load(x, (block, 0), (64, 64)) * 2.0)


@ct.kernel
def copy(x, y) -> None:
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (64, 64)))


MATRIX = "f16[?,?]"
MATRIX_32 = MATRIX.replace("f16", "f32")
MULTIPLY = f"a: {MATRIX}, b: {MATRIX}, c: {MATRIX}, tm=128, tn=256, tk=64"
ATTENTION = f"q: {MATRIX}, k: {MATRIX}, v: {MATRIX}, o: {MATRIX}"


def reports(kernel: Any, signature: str | Signature, target: str) -> list[LoopReport]:
    stage = compile_entry(kernel, signature=signature, target=target, stop="gpu").stage("gpu")
    assert stage is not None
    return schedule_reports(stage.value, target)


@pytest.mark.parametrize(
    ("rows", "ctas", "clocks"),
    [
        # SEMI and QRC: N/2 clocks per 32 bytes of K for 128 rows of an SM, or 64 of one CTA; N/4 for 64 of a pair.
        (256, 2, 512),
        (128, 2, 256),
        (128, 1, 512),
        (64, 1, 512),
    ],
)
def test_multiply_of_256_columns_by_a_pair_and_by_one_block(rows: int, ctas: int, clocks: int) -> None:
    signature = MULTIPLY.replace("tm=128", f"tm={rows}")
    compiled = compile_entry(multiply, signature=signature, target="sm_100a", hints={"num_ctas": ctas}, stop="gpu")
    (report,) = schedule_reports(compiled.stage("gpu").value, "sm_100a")
    (mma,) = (each for each in report.loop.problem.operations if each.name.startswith("tcgen05_mma"))
    assert [(use.unit, use.busy) for use in mma.uses] == [("tc", clocks)]


def test_problem_of_a_multiply() -> None:
    """One slot holds both operands: the second load is not before the first one, nor after that of the next slot."""
    (report,) = reports(multiply, MULTIPLY, "sm_100a")
    names = [operation.name for operation in report.loop.problem.operations]
    first, second, mma = names
    assert [name.partition("@")[0] for name in names] == ["tma_load", "tma_load", "tcgen05_mma"]
    assert report.loop.roles == ("load", "load", "mma")
    lines = write_problem(report.loop.problem).splitlines()
    assert lines[2:] == [
        # 227 KB without the barriers, and without the staging buffer of the store.
        *lines[2:4],
        f"operation {first} stream duration=30 warps=1 uses=tma:96,l2:231",
        f"operation {second} stream duration=30 warps=1 uses=tma:192,l2:462",
        f"operation {mma} issue duration=48 warps=1 uses=tc:512",
        f"edge {first} {second} latency=0",
        f"edge {first} {mma} latency=556 cross=92",
        f"edge {second} {mma} latency=652 cross=92",
        f"edge {second} {first} latency=0 distance=1",
        f"buffer {report.loop.problem.buffers[0].name} source={first} memory=shared size=49152 uses={mma}:648",
    ]


@pytest.mark.parametrize(("target", "interval", "unit"), [("sm_100a", 696, "l2"), ("sm_90a", 1024, "tc")])
def test_multiply_is_at_its_bound_now_too(target: str, interval: int, unit: str) -> None:
    (report,) = reports(multiply, MULTIPLY, target)
    assert report.answer is not None
    assert (report.present, report.answer.schedule.interval) == (interval, interval)
    assert report.answer.bound.reason == f"unit {unit}"


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_roles_of_one_loop_are_one_problem(target: str) -> None:
    """Attention: two multiplies, and softmax between them; a chain in program order, which a schedule overlaps."""
    (report,) = reports(attention, ATTENTION, target)
    problem = report.loop.problem
    kinds = [operation.name.partition("@")[0] for operation in problem.operations]
    multiplies = {"sm_100a": "tcgen05_mma", "sm_90a": "wgmma"}[target]
    # Two warpgroups of sm_90a multiply their rows each.
    groups = {"sm_100a": 1, "sm_90a": 2}[target]
    assert kinds.count("tma_load") == 2
    assert kinds.count(multiplies) == 2 * groups
    # The exponentials, and what is mixed with them: the sums of their rows, and conversions.
    # On sm_100a polynomials compute some of them.
    assert kinds.count({"sm_100a": "math", "sm_90a": "exp2"}[target]) == groups
    # On sm_100a a role of its own scales the accumulator.
    computing = {"compute", "compute1"} if target == "sm_100a" else {"compute[0]", "compute[1]"}
    assert set(report.loop.roles) == {*computing, "load", *(["mma"] if target == "sm_100a" else [])}
    assert report.answer is not None and report.attained is not None
    assert verify(problem, report.answer.schedule) == []
    # All iterations of a schedule are equal. The iterations of the present order may differ, and their mean may be
    # shorter, as it is on sm_100a.
    assert report.answer.bound.interval <= report.attained
    assert report.answer.bound.interval <= report.answer.schedule.interval <= 1.03 * report.attained


def test_one_of_two_roles_that_alternate_is_scheduled() -> None:
    """Two roles compute alternate tiles: an iteration of the inner loop has one multiply."""
    (report,) = reports(persistent, f"a: {MATRIX}, b: {MATRIX}, c: {MATRIX}", "sm_90a")
    assert sorted(report.loop.roles) == ["compute", "load", "load"]


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_loops_that_share_a_ring_have_problems_of_their_own(target: str) -> None:
    """Two loops at one place in the source, and one at another, each with two loads and a multiply."""
    found = reports(in_a_row, ", ".join(f"{name}: {MATRIX}" for name in "abcd"), target)
    assert [len(report.loop.problem.operations) for report in found] == [3, 3, 3]


def test_kernels_reach_the_intervals_of_schedules() -> None:
    """Each role in program order has at most 5 % more clocks than the best schedule that is found."""
    for target in ("sm_100a", "sm_90a"):
        for report in (*reports(multiply, MULTIPLY, target), *reports(attention, ATTENTION, target)):
            assert report.answer is not None and report.attained is not None
            assert report.attained <= 1.05 * report.answer.schedule.interval


def test_warpgroups_of_attention_alternate_on_the_tensor_core() -> None:
    """On sm_90a one warpgroup computes exponentials while the other one multiplies."""
    (report,) = reports(attention, ATTENTION, "sm_90a")
    assert report.answer is not None and report.answer.how.value == "present"
    # 2 * 128 * 128 * 128 multiply-adds, 2048 each clock.
    assert (report.attained, report.answer.bound.interval, report.answer.bound.reason) == (2048, 2048, "unit tc")
    starts = zip(report.loop.problem.index, report.answer.schedule.start, strict=True)
    first, second = (start for name, start in starts if name.startswith("exp2"))
    assert 512 <= (first - second) % 2048 <= 2048 - 512


@pytest.mark.parametrize("bias", ["bias=None", f"bias: {MATRIX}"])
def test_scores_of_64_columns_are_two_iterations_ahead_of_their_product(bias: str) -> None:
    """A warpgroup issues the scores of the iteration after next behind the product, then reduces those of the next."""
    signature = ATTENTION.replace("o:", f"{bias}, o:")
    (report,) = reports(attention_of_64_columns, signature, "sm_90a")
    names = [operation.name.split("@")[0] for operation in report.loop.problem.operations]
    count = report.loop.roles.count(report.loop.roles[0])
    found = list(zip(names, report.loop.ahead, strict=True))[:count]
    assert found[:2] == [("wgmma", 0), ("wgmma", 2)]
    assert {ahead for _, ahead in found[2:]} == {1}


def test_warpgroups_of_attention_have_an_order() -> None:
    """Each issues both multiplies when the one before has issued its own, 40 clocks, and a named barrier later, 30."""
    (report,) = reports(attention, ATTENTION, "sm_90a")
    multiplies = [each.name for each in report.loop.problem.operations if each.name.startswith("wgmma")]
    scores, products, other_scores, other_products = multiplies
    found = {(edge.source, edge.target): edge for edge in report.loop.problem.edges}
    for source, target, distance in ((products, other_scores, 0), (other_products, scores, 1)):
        edge = found[source, target]
        assert (edge.latency, edge.cross, executed_distance(report, edge)) == (40, 30, distance)


def executed_distance(report: LoopReport, edge: Edge) -> int:
    """The iterations of the loop as it is between two operations, of which each may be ahead."""
    ahead = dict(zip(report.loop.problem.index, report.loop.ahead, strict=True))
    return edge.distance + ahead[edge.source] - ahead[edge.target]


ORDER_OF_NOTHING = """
#d = "register=(0,1)(8,0) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0)(64,0) shape=128x8"
!d = tensor<128x8xf32, #d>
!a = buffer<128x16xf16, shared, contiguous=1 swizzle=32B>
!b = buffer<16x8xf16, shared, contiguous=0 swizzle=none>
tile_gpu.kernel @k(%n: i32, %m: i32) target "sm_90a" warps 8 {
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : !d
  %q = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!a]>
  %k = tile_gpu.make_channel stages 1 producer tma consumers [wgmma] reuse once : channel<[!b]>
  tile_gpu.roles compute warps 8 {
    %left = tile_gpu.get %q consumer 0 : channel<[!a]>
    %right = tile_gpu.get %k consumer 0 : channel<[!b]>
    scf.for %i = %m to %n step %one : i32 {
      %t = tile_gpu.wgmma f16 %left, %right, %none : !a, !b -> !d
      tile_gpu.order_wait
      tile_gpu.order_signal
      %u = tile_gpu.wgmma_wait %t pending 0 : !d
    }
  } load warps 1 {
  }
}
"""


def test_nothing_between_a_wait_and_a_signal_has_no_order() -> None:
    compiled = compile_entry(ORDER_OF_NOTHING, target="sm_90a", stop="gpu")
    (report,) = schedule_reports(compiled.stage("gpu").value, "sm_90a")
    assert len(report.loop.problem.operations) == 2 and not report.loop.problem.edges


def test_parts_of_weights_are_multiplied_when_they_are_stored() -> None:
    """The first multiply of a tile waits for the first part of the exponentials, not for the second one."""
    (report,) = reports(attention_of_two_tiles, ATTENTION, "sm_100a")
    problem = report.loop.problem
    roles = dict(zip(problem.index, report.loop.roles, strict=True))
    multiplies = [each.name for each in problem.operations if each.name.startswith("tcgen05_mma")]
    # In the order of the role `mma`: two parts of the weights of a tile, then its next scores.
    assert len(multiplies) == 6
    for role, first, second in (("compute", *multiplies[0:2]), ("compute1", *multiplies[3:5])):
        of_role = [each for each in problem.operations if roles[each.name] == role]
        exponentials = [each.name for each in of_role if any(use.unit == "mufu" for use in each.uses)]
        waits = [
            (edge.source, edge.target)
            for edge in problem.edges
            if edge.source in exponentials and edge.target in (first, second) and not edge.distance
        ]
        assert sorted(waits) == sorted(zip(exponentials, (first, second), strict=True))


def test_scores_wait_for_the_weights_in_their_place() -> None:
    """Weights lie over the scores of their tile: the next scores follow the multiplies that read them."""
    (report,) = reports(attention_of_two_tiles, ATTENTION, "sm_100a")
    problem = report.loop.problem
    multiplies = [each for each in problem.operations if each.name.startswith("tcgen05_mma")]
    for part, scores in (multiplies[1:3], multiplies[4:6]):
        (edge,) = (edge for edge in problem.edges if (edge.source, edge.target) == (part.name, scores.name))
        # 48 of the 128 weights of a row, and 4 clocks for each of them with 128 columns: SEMI and QRC, as above.
        assert (edge.distance, edge.latency) == (1, 192)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_tiles_that_are_loaded_ahead_come_from_several_iterations_before(target: str) -> None:
    """A load counts 128 rows of 64 elements of two bytes, without the addresses, and is hidden by two iterations."""
    matrix = np.zeros((128, 128), np.float16)
    signature = Signature.from_arguments(gathered, (matrix, matrix, matrix.astype(np.float32)))
    (report,) = reports(gathered, signature, target)
    problem = report.loop.problem
    (load,) = (operation for operation in problem.operations if operation.name.startswith("load_global"))
    (stored,) = (edge for edge in problem.edges if edge.source == load.name)
    assert stored.target.startswith("store_shared") and stored.distance == 2
    assert load.duration == 128 * 64 * 2 / 128
    assert report.answer is not None
    assert report.attained == report.answer.bound.interval


def test_carried_values_come_from_the_iteration_before() -> None:
    (report,) = reports(attention, ATTENTION, "sm_90a")
    names = {name.partition("@")[0]: name for name in report.loop.problem.index}
    carried = {
        (edge.source.partition("@")[0], edge.target.partition("@")[0])
        for edge in report.loop.problem.edges
        if executed_distance(report, edge)
    }
    # The multiply that is delayed by an iteration reads the weights of the last block, and adds to its rescaled result:
    # one run computes both.
    assert ("truncf", "wgmma") in carried
    assert "exp2" in names
    edges = report.loop.problem.edges
    forward = {(edge.source, edge.target) for edge in edges if not executed_distance(report, edge)}
    order = report.loop.problem.index
    assert all(order[source] < order[target] for source, target in forward if "tma_load" not in source)


def test_loop_in_one_role() -> None:
    found = reports(scale, "x: f32[?,?] strides (?,1), y: f32[?,?], count: i32", "sm_90a")
    for report in found:
        assert report.answer is not None and report.present is not None
        assert report.answer.schedule.interval <= report.present


def test_kernel_without_loops_has_no_report() -> None:
    assert reports(copy, f"x: {MATRIX}, y: {MATRIX}", "sm_100a") == []


def test_text_and_fields() -> None:
    (report,) = reports(multiply, MULTIPLY, "sm_100a")
    text = report.text()
    assert f"loop at {__file__}:" in text and " of multiply: 3 operations\n" in text
    assert "now: interval of 696 clocks (roles load, mma, each in program order)\n" in text
    assert "reachable: interval 696 clocks (present); bound 696: unit l2\n" in text
    assert "\nl2 100 %     |" in text
    slower = replace(report, attained=690).text()
    assert "now: interval of 690 clocks" in slower and "found, but slower than now: interval 696 clocks" in slower
    fields = json.loads(json.dumps(report.fields()))
    assert [fields[name] for name in ("present_interval", "attained_interval", "interval", "bound")] == [696] * 4
    assert fields["how"] == "present"
    assert list(fields["role"].values()) == [0, 0, 1]


@ct.kernel
def scale_rows(x, y) -> None:
    """Tiles of 1 KB: threads read and write each in fewer clocks than an operation of a schedule has."""
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        ct.store(y, (row, 0), ct.transpose(ct.load(x, (0, row), (16, 16))) * 2.0)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_what_is_loaded_for_small_operations_is_stored_later(target: str) -> None:
    (report,) = reports(scale_rows, "x: f32[?,?%4], y: f32[?,?%4]", target)
    store, load = (operation.name for operation in report.loop.problem.operations)
    assert (store.partition("@")[0], load.partition("@")[0]) == ("tma_store", "tma_load")
    assert [(edge.source, edge.target) for edge in report.loop.problem.edges] == [(load, store)]
    (ring,) = report.loop.problem.buffers
    assert (ring.source, [use.operation for use in ring.uses]) == (load, [store])
