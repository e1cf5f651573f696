"""The cost of compiled kernels: work by hand and by the simulator's counters, bounds, locations, text."""

from __future__ import annotations

import re
from typing import Any

import cost_kernels
import numpy as np
import pytest

import tilec as ct
from tilec.explain.cost import EpilogueOverlap, KernelCost, LoopCost, kernel_costs
from tilec.lowering.gpu.cost.loop_cycles import cycles_of
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.matmul import Matmul, predict_matmul
from tilec.lowering.model.step import TENSOR_PIPE
from tilec.runtime.simulate import Settings, simulate

TARGETS = ("sm_100a", "sm_90a")
MATMUL = "A: f16[{m},{k}], B: f16[{k},{n}], C: f16[{m},{n}], TM=128, TN={n}, TK=64"
ATTENTION = "Q: f16[128,64], K: f16[{keys},64], V: f16[{keys},64], out: f16[128,64], TM=128, TN=64, D=64"


def compiled(kernel: str, signature: str, target: str, stop: str = "gpu", **hints: Any) -> Any:
    return ct.compile(getattr(cost_kernels, kernel), signature=signature, target=target, stop=stop, hints=hints)


def cost_of(result: Any) -> KernelCost:
    (cost,) = kernel_costs(result.stage("gpu").value, result.target)
    return cost


def loop_of(result: Any) -> LoopCost:
    (loop,) = (loop for loop in cost_of(result).loops if loop.work.depth == 0)
    return loop


def matmul(target: str, m: int = 128, n: int = 128, k: int = 256, **options: Any) -> Any:
    return compiled("matmul", MATMUL.format(m=m, n=n, k=k), target, **options)


def counted(result: Any, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> dict[str, int]:
    return dict(simulate(result.artifact, grid, arguments, Settings(0, checks=False)))


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float16)


def total(cost: KernelCost, attribute: str, iterations: int, blocks: int) -> float:
    """A quantity of a launch with one loop, by the number of iterations of the loop."""
    return blocks * sum(
        getattr(loop.work, attribute) * (iterations if loop.work.depth == 0 else 1) for loop in cost.loops
    )


@pytest.mark.parametrize("target", TARGETS)
def test_matmul_has_the_work_that_the_simulator_counts(target: str) -> None:
    result = matmul(target, m=256, n=128, k=256, stop="ptx")
    arguments = (ones(256, 256), ones(256, 128), ones(256, 128), 128, 128, 64)
    counters = counted(result, (2, 1, 1), arguments)
    cost = cost_of(result)
    assert total(cost, "multiply_adds", 4, 2) == counters["tensor_core_multiply_adds"]
    assert total(cost, "tma_bytes", 4, 2) == counters["bulk_load_bytes"]


@pytest.mark.parametrize("target", TARGETS)
def test_attention_has_the_work_that_the_simulator_counts(target: str) -> None:
    result = compiled("attention", ATTENTION.format(keys=192), target, stop="ptx")
    arguments = (ones(128, 64), ones(192, 64), ones(192, 64), ones(128, 64), 128, 64, 64)
    counters = counted(result, (1, 1, 1), arguments)
    cost = cost_of(result)
    assert total(cost, "multiply_adds", 3, 1) == counters["tensor_core_multiply_adds"]
    assert total(cost, "tma_bytes", 3, 1) == counters["bulk_load_bytes"]


def _functions_of_a_thread(ptx: str) -> int:
    """Operations of MUFU in straight-line code: powers, and divisions, which take a reciprocal each.

    The divisions of operands for which a reciprocal is not exact enough are in blocks of their own.
    """
    usual = re.sub(r"\$divide(_row|_next)?(_\d+)?:.*?(?=\$)", "", ptx, flags=re.DOTALL)
    return len(re.findall(r"\b(?:ex2\.approx|div\.|rcp\.)", usual))


@pytest.mark.parametrize("target", TARGETS)
def test_softmax_has_the_exponentials_and_bytes_of_its_code(target: str) -> None:
    result = compiled("softmax", "x: f16[8,1024], y: f16[8,1024], N=1024", target, stop="ptx")
    (outside,) = cost_of(result).loops
    functions = _functions_of_a_thread(result.ptx) * result.metadata.block[0]
    assert outside.work.step.exponentials == functions
    counters = counted(result, (1, 1, 1), (ones(8, 1024), ones(8, 1024), 1024))
    moved = ("bytes.global_read", "bytes.global_written", "bulk_load_bytes", "bulk_store_bytes")
    assert outside.work.step.l2_bytes == sum(counters.get(name, 0) for name in moved)


@pytest.mark.parametrize("target", TARGETS)
def test_attention_has_the_exponentials_of_its_code(target: str) -> None:
    result = compiled("attention", ATTENTION.format(keys=64), target, stop="ptx")
    # One block of keys: the loop is unrolled.
    (outside,) = cost_of(result).loops
    functions = _functions_of_a_thread(result.ptx) * 128
    assert outside.work.step.exponentials == functions


# A step of 64 elements of K: cycles of the tensor pipe; bytes of shared memory read by it and written by TMA.
@pytest.mark.parametrize(("target", "n", "cycles", "reads"), [
    ("sm_100a", 128, 256, 256), ("sm_100a", 256, 512, 384), ("sm_90a", 128, 512, 384), ("sm_90a", 256, 1024, 640),
])  # fmt: skip
def test_units_of_a_step(target: str, n: int, cycles: int, reads: int) -> None:
    loop = loop_of(matmul(target, n=n))
    assert loop.cycles.units["tensor pipe"] == cycles
    written = (128 + n) * 64 * 2
    # On sm_90a the writes of TMA take no time from multiplies (lowering/model/constants.py, shared_write_share).
    assert loop.cycles.units["shared memory port"] == reads + (written / 128 if target == "sm_100a" else 0)
    assert loop.work.multiply_adds == 128 * n * 64
    assert loop.work.tma_bytes == written


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("roles", [True, False])
def test_deeper_rings_are_faster_until_a_unit_is_the_bound(target: str, roles: bool) -> None:
    loops = [loop_of(matmul(target, n=256, k=4096, stages=stages, roles=roles)).work for stages in (1, 2, 3)]
    one_block = [cycles_of(loop, device_of(target)) for loop in loops]
    cycles = [each.cycles for each in one_block]
    assert cycles == sorted(cycles, reverse=True) and cycles[0] > 1.8 * cycles[-1]
    # Without roles the threads that multiply wait for their own loads: on sm_90a that chain is the longer one.
    assert one_block[0].bound == ("dependent operations" if target == "sm_90a" and not roles else "latency of the ring")


# The model of a multiply from its tiles alone, which is held against published times, has no more in its steps.
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [128, 256])
def test_step_of_a_deep_ring_is_that_of_the_model_of_a_multiply(target: str, n: int) -> None:
    loop = loop_of(matmul(target, n=n, k=4096, multicast=False))
    (ring,) = loop.work.rings.values()
    tile = Matmul(
        device=device_of(target).name, rows=4096, columns=4096, depth=4096, tile=(128, n, 64), stages=ring.stages
    )
    assert loop.cycles.cycles == pytest.approx(predict_matmul(tile).step_cycles, rel=0.05)
    assert loop.cycles.units["dependent operations"] == 0


def test_blocks_that_share_an_operand_read_it_from_l2_once() -> None:
    """64x128 on sm_90a: 24 KiB of a step in shared memory, and 16 KiB from L2, because the right operand is shared."""
    loop = loop_of(compiled("matmul", MATMUL.format(m=128, n=128, k=4096).replace("TM=128", "TM=64"), "sm_90a"))
    assert loop.work.tma_bytes == 24576 and loop.work.step.l2_bytes == 16384
    assert loop.cycles.units["tensor pipe"] == 256


def test_blocks_of_an_sm_hide_the_latency_of_each_other() -> None:
    loop = loop_of(matmul("sm_100a", n=256, k=4096, stages=1)).work
    one, two = (cycles_of(loop, device_of("sm_100a"), blocks) for blocks in (1, 2))
    assert two.units["latency of the ring"] == one.units["latency of the ring"] / 2


def test_attention_of_two_blocks_is_bound_by_exponentials() -> None:
    """While the operations of one block wait for each other, the other one computes."""
    loop = loop_of(compiled("attention", ATTENTION.format(keys=4096), "sm_100a"))
    assert loop.cycles.bound == "MUFU"
    assert loop.tensor_share > 0.5, "polynomials compute some of them"


@pytest.mark.parametrize("target", TARGETS)
def test_loop_is_at_the_line_of_the_user(target: str) -> None:
    result = matmul(target)
    (line,) = (line for line in result.explain("cost").splitlines() if "cost_kernels.py" in line)
    number = int(re.search(r"cost_kernels\.py:(\d+):\d+: loop: [\d,]+ cycles per iteration, bound by ", line)[1])
    with open(cost_kernels.__file__) as source:
        assert source.read().splitlines()[number - 1].strip().startswith("for k in range")


def test_report_needs_tile_gpu() -> None:
    with pytest.raises(ct.TilecError, match="the report 'cost' needs stage 'gpu'"):
        matmul("sm_90a", stop="tile").explain("cost")
    with pytest.raises(ct.TilecError, match="unknown report 'speed': expected one of cost"):
        matmul("sm_90a").explain("speed")


@pytest.mark.parametrize("hints", [{}, {"num_ctas": 2}], ids=["chosen", "hint"])
def test_pair_has_the_work_that_the_simulator_counts(hints: dict[str, int]) -> None:
    signature = MATMUL.format(m=256, n=128, k=256).replace("TM=128", "TM=256")
    result = compiled("matmul", signature, "sm_100a", stop="ptx", **hints)
    counters = counted(result, (1, 1, 1), (ones(256, 256), ones(256, 128), ones(256, 128), 256, 128, 64))
    cost = cost_of(result)
    assert cost.blocks_per_tile == 2
    assert total(cost, "multiply_adds", 4, 2) == counters["tensor_core_multiply_adds"]
    assert total(cost, "tma_bytes", 4, 2) == counters["bulk_load_bytes"]
    reason = ", chosen because a product of 4096x4096x4096 takes" if not hints else ""
    assert f"  2 blocks per tile{reason}" in cost.text() and (cost.cluster_choice is None) == bool(hints)


def test_pair_multiplies_at_the_rate_of_two_blocks() -> None:
    """256x128x64 by two SMs: each reads 128 rows of A and 64 columns of B per 16 KB and 8 KB that TMA writes."""
    signature = MATMUL.format(m=256, n=128, k=256).replace("TM=128", "TM=256")
    loop = loop_of(compiled("matmul", signature, "sm_100a"))
    assert loop.cycles.units["tensor pipe"] == 256
    assert loop.cycles.units["shared memory port"] == 2 * (128 + 64) * 128 / 128


def test_blocks_of_a_multicast_read_parts_of_an_operand() -> None:
    """Of 256x64 and 64x128 elements of f16, each of two blocks reads its 128 rows, and half of the 64x128."""
    signature = MATMUL.format(m=256, n=128, k=256).replace("TM=128", "TM=256")
    one, two = (loop_of(compiled("matmul", signature, "sm_90a", num_ctas=count)).work.step for count in (1, 2))
    assert (one.l2_bytes, two.l2_bytes) == ((256 + 128) * 128, (128 + 64) * 128)
    assert two.shared_bytes > two.l2_bytes


def epilogue_of(target: str, rows: int, columns: int, depth: str = "?", **hints: Any) -> EpilogueOverlap:
    signature = f"A: f16[?,{depth}], B: f16[{depth},?], C: f16[?,?%8], TM={rows}, TN={columns}, TK=64"
    result = compiled("persistent", signature, target, **hints)
    (epilogue,) = (loop.epilogue for loop in cost_of(result).loops if loop.epilogue is not None)
    return epilogue


@pytest.mark.parametrize(("rows", "columns", "ctas"), [(128, 128, 1), (128, 256, 1), (256, 256, 2)])
def test_multiplies_of_the_next_tile_hide_the_epilogue(rows: int, columns: int, ctas: int) -> None:
    """Two accumulators fit in tensor memory, and no role but that of the epilogue waits for its stores."""
    epilogue = epilogue_of("sm_100a", rows, columns, num_ctas=ctas)
    assert epilogue.cycles > 1000 and epilogue.iterations == 64
    assert epilogue.hidden_share > 0.95


def test_pairs_of_256x256_multiply_for_95_percent_of_a_tile() -> None:
    """A step has 512 cycles of the tensor pipe, and TMA loads 32 KB for it: 64 steps, and what follows them."""
    signature = "A: f16[?,?], B: f16[?,?], C: f16[?,?%8], TM=256, TN=256, TK=64"
    loops = cost_of(compiled("persistent", signature, "sm_100a", num_ctas=2)).loops
    (step,) = (loop for loop in loops if loop.work.multiply_adds)
    (epilogue,) = (loop.epilogue for loop in loops if loop.epilogue is not None)
    assert step.cycles.units[TENSOR_PIPE] == 512 and step.work.tma_bytes == 32768
    assert 64 * 512 / (64 * step.cycles.cycles + epilogue.exposed) > 0.95


def test_short_multiplies_hide_a_part_of_the_epilogue() -> None:
    """Two iterations of the inner loop, of 804 cycles each, are shorter than the epilogue, which bounds the tiles."""
    short, long = (epilogue_of("sm_100a", 128, 256, depth) for depth in ("128", "4096"))
    assert (short.iterations, long.iterations) == (2, 64)
    assert short.exposed == pytest.approx(short.cycles - 2 * 804, rel=0.2) and long.hidden_share > 0.95


@pytest.mark.parametrize(("warps", "least", "most"), [(None, 0.65, 0.8), (8, 0.65, 0.8), (4, 0.1, 0.2)])
def test_one_accumulator_is_read_before_it_is_stored(warps: int | None, least: float, most: float) -> None:
    """256x256 sums of one block fill tensor memory: eight warps hold all of them as f16, four warps do not."""
    epilogue = epilogue_of("sm_100a", 256, 256, num_ctas=1, **({} if warps is None else {"warps": warps}))
    assert least < epilogue.hidden_share < most


def test_one_accumulator_in_registers_hides_no_epilogue() -> None:
    """On sm_90a the threads that store have the sums in their registers."""
    assert epilogue_of("sm_90a", 256, 256, num_ctas=1).hidden_share < 0.1


def test_two_roles_hide_the_epilogue() -> None:
    """On sm_90a one role stores while the other one multiplies; there are no registers for two roles of eight warps."""
    assert epilogue_of("sm_90a", 128, 128).hidden_share == 1
    assert epilogue_of("sm_90a", 128, 128, warps=8).hidden_share < 0.1


@pytest.mark.parametrize(
    ("rows", "columns", "hints", "advice"),
    [
        (256, 256, {"num_ctas": 1}, "use smaller tiles or num_ctas=2"),
        (256, 256, {"num_ctas": 2}, None),
        (256, 256, {"num_ctas": 1, "roles": False}, None),
        (128, 256, {}, None),
    ],
)
def test_remark_says_that_the_epilogue_is_not_hidden(
    rows: int, columns: int, hints: dict[str, Any], advice: str | None
) -> None:
    signature = f"A: f16[?,?], B: f16[?,?], C: f16[?,?%8], TM={rows}, TN={columns}, TK=64"
    all_remarks = compiled("persistent", signature, "sm_100a", **hints).all_remarks
    found = [each for each in all_remarks if each.topic == "roles"]
    waits = "multiplies of the next tile wait for the epilogue"
    reason = "two accumulators do not fit in 512 columns of tensor memory"
    assert [each.message for each in found] == ([] if advice is None else [f"{waits}: {reason}: {advice}"])
    if found:
        with open(cost_kernels.__file__) as source:
            assert "range(ct.num_tiles(A" in source.read().splitlines()[found[0].location.line - 1]
