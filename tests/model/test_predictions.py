"""Steps, rings, waves and bounds: values worked by hand from the table of constants."""

from __future__ import annotations

from dataclasses import replace

import pytest
from predicted_attention import Attention, predict_attention
from predicted_rows import Rows, predict_rows

from tilec.lowering.model.constants import DEVICES, device_of
from tilec.lowering.model.launch import bandwidth_fraction, combined_cycles
from tilec.lowering.model.matmul import Matmul, predict_matmul
from tilec.lowering.model.step import Multiply, Step, pipe_use, unit_cycles

BLACKWELL, HOPPER = device_of("sm_100a"), device_of("sm_90a")


# Published issue intervals of tcgen05.mma (SEMI, on B200): M, N, pair, A in shared memory, cycles. The interval is that
# of the tensor pipe or of the reads of shared memory, whichever is longer.
@pytest.mark.parametrize(
    ("rows", "columns", "pair", "left_in_shared", "measured"),
    [
        *(
            (128, n, False, True, cycles)
            for n, cycles in ((64, 48), (80, 52), (96, 56), (112, 60), (128, 64), (256, 128))
        ),
        *(
            (128, n, False, False, cycles)
            for n, cycles in ((64, 32), (80, 40), (96, 48), (112, 56), (128, 64), (256, 128))
        ),
        *((64, n, False, True, cycles) for n, cycles in ((128, 64), (256, 128))),
        *((256, n, True, True, cycles) for n, cycles in ((80, 45), (96, 49), (112, 56), (128, 64), (256, 128))),
        *((128, n, True, True, cycles) for n, cycles in ((112, 30), (128, 32), (256, 64))),
    ],
)
def test_issue_interval_of_tcgen05(rows: int, columns: int, pair: bool, left_in_shared: bool, measured: int) -> None:
    multiply = Multiply(rows=rows, columns=columns, depth=16, element_bits=16, pair=pair, left_in_shared=left_in_shared)
    use = pipe_use(multiply, BLACKWELL)
    interval = combined_cycles(unit_cycles(Step(tensor_cycles=use.cycles, shared_bytes=use.shared_bytes), BLACKWELL))
    assert interval == pytest.approx(measured, rel=0.07)


# Cycles of the tensor pipe and of reads of shared memory for 64 elements of K: reference tiles of both targets.
@pytest.mark.parametrize(
    ("device", "rows", "columns", "pair", "cycles", "reads"),
    [
        (BLACKWELL, 128, 128, False, 256, 256),
        (BLACKWELL, 128, 256, False, 512, 384),
        (BLACKWELL, 256, 256, False, 1024, 768),
        (BLACKWELL, 256, 256, True, 512, 256),
        (BLACKWELL, 512, 256, True, 1024, 512),
        (HOPPER, 128, 128, False, 512, 384),
        (HOPPER, 128, 256, False, 1024, 640),
    ],
)
def test_use_of_a_step(device, rows: int, columns: int, pair: bool, cycles: int, reads: int) -> None:
    use = pipe_use(Multiply(rows=rows, columns=columns, depth=64, element_bits=16, pair=pair), device)
    assert (use.cycles, use.shared_bytes / device.shared_bytes_per_cycle) == (cycles, reads)


@pytest.mark.parametrize(("element_bits", "depth"), [(32, 32), (16, 64), (8, 128), (4, 256)])
def test_cycles_depend_on_the_bytes_along_k(element_bits: int, depth: int) -> None:
    use = pipe_use(Multiply(rows=128, columns=256, depth=depth, element_bits=element_bits), BLACKWELL)
    assert (use.cycles, use.instructions) == (512, 4)


GEMM = Matmul(
    device="B200", rows=8192, columns=8192, depth=8192, tile=(256, 256, 64), stages=5, pair=True, persistent=True,
    accumulators=2, group=8,
)  # fmt: skip


def test_large_matmul_of_pairs_is_bound_by_the_tensor_pipe() -> None:
    prediction = predict_matmul(GEMM)
    assert prediction.bound == "tensor pipe"
    assert prediction.step_units["tensor pipe"] == 512
    # 1024 tiles on 74 pairs.
    assert (prediction.iterations, prediction.tiles_per_processor) == (128, 14)


def test_pairs_are_not_slower_than_published_at_the_highest_clock() -> None:
    """cuTile Rust, 256x256x64 with num_ctas=2 (CUTILE-RS): 2127 TFLOP/s with an unlocked clock of at most 1.965 GHz."""
    matmul = replace(GEMM, rows=16384, columns=16384, depth=16384)
    assert predict_matmul(matmul).cycles / 1.965e9 < matmul.flop / 2127e12


def test_bound_names_the_unit() -> None:
    assert predict_matmul(replace(GEMM, stages=1)).bound == "latency of the ring"
    assert predict_matmul(replace(GEMM, tile=(128, 128, 64), pair=False, stages=6)).bound == "shared memory port"
    hopper = replace(GEMM, device="H200", tile=(128, 128, 64), pair=False, stages=6, accumulators=1)
    assert predict_matmul(hopper).bound == "L2"
    assert predict_matmul(replace(GEMM, depth=64, persistent=False)).bound == "prologue and epilogue"
    softmax = Attention(device="B200", heads=64, queries=8192, keys=8192, head_size=64, tiles=2, blocks_per_processor=2)
    assert predict_attention(softmax).bound == "MUFU"
    assert predict_attention(replace(softmax, blocks_per_processor=1)).bound == "dependent operations"
    add = Rows(device="B200", elements=1 << 28, tile_elements=1 << 14, element_bits=16, blocks_per_processor=4)
    assert predict_rows(add).bound == "HBM"
    assert predict_rows(replace(add, elements=1 << 14)).bound == "launch"
    assert predict_rows(replace(add, fma=100)).bound == "issue slots"
    assert predict_rows(replace(add, blocks_per_processor=1)).bound == "latency of the ring"


def test_more_stages_are_never_slower() -> None:
    times = [predict_matmul(replace(GEMM, stages=stages)).cycles for stages in range(1, 7)]
    assert times == sorted(times, reverse=True) and times[0] > 2 * times[-1]


def test_wave_that_is_not_full_costs_a_whole_tile() -> None:
    full, more = (predict_matmul(replace(GEMM, rows=256 * tiles, columns=256)) for tiles in (74, 75))
    assert (full.tiles_per_processor, more.tiles_per_processor) == (1, 2)
    assert more.cycles > 1.8 * full.cycles


def test_second_accumulator_hides_the_epilogue() -> None:
    short = replace(GEMM, depth=512)
    hidden, exposed = predict_matmul(short), predict_matmul(replace(short, accumulators=1))
    # 256 columns of tensor memory: 128 x 256 x 4 bytes, 256 per cycle.
    assert exposed.tile_cycles - hidden.tile_cycles > 512
    assert hidden.exposed_cycles == 0
    assert hidden.epilogue_cycles < hidden.tile_cycles


def test_two_tiles_of_attention_are_bound_by_the_chain_of_one() -> None:
    # The exact schedule of this loop with one ring of scores takes 2864 cycles, and 2048 of the tensor pipe.
    prediction = predict_attention(
        Attention(device="B200", heads=64, queries=8192, keys=8192, head_size=128, tiles=2, persistent=True)
    )
    assert prediction.step_units["tensor pipe"] == 2048
    assert prediction.step_cycles == pytest.approx(2864, rel=0.06)


def test_bandwidth_needs_bytes_in_flight() -> None:
    # SEMI: 3.6 of 7.2 TB/s with 16 KB per SM, 5.6 with 32 KB.
    assert bandwidth_fraction(16 * 1024, BLACKWELL) == pytest.approx(3.6 / 7.2, rel=0.02)
    assert bandwidth_fraction(32 * 1024, BLACKWELL) == pytest.approx(5.6 / 7.2, rel=0.02)
    assert bandwidth_fraction(1 << 20, DEVICES["H200"]) == 1.0
    # H200 has less bandwidth per SM, and needs fewer bytes for the same fraction.
    assert bandwidth_fraction(16 * 1024, HOPPER) > bandwidth_fraction(16 * 1024, BLACKWELL)


def test_text_names_the_bound_and_lists_the_units() -> None:
    lines = predict_matmul(GEMM).text().splitlines()
    assert lines[0].endswith("us, bound by tensor pipe")
    assert lines[2].split()[:2] == ["tensor", "pipe"]
