"""Clusters without a hint: pairs for products of 256 rows if the model says faster, and blocks for long rows."""

from __future__ import annotations

import re
from typing import Any

import cluster_choice_kernels as kernels
import pytest

import tilec
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.matmul import pair_times
from tilec.lowering.target import target_named

TARGET = "sm_100a"
ARRAYS = "A: f16[1024,512], B: f16[512,1024], C: f32[1024,1024]"
PRODUCT = f"{ARRAYS}, TM={{}}, TN={{}}, TK=64"


def raw(kernel: Any, rows: int = 256, columns: int = 128, *, target: str = TARGET, **hints: Any) -> tuple[str, Any]:
    signature = PRODUCT.format(rows, columns)
    if kernel is kernels.counted:
        signature = signature.replace(ARRAYS, f"{ARRAYS}, N: i32[1]")
    result = tilec.compile(kernel, signature=signature, target=target, hints=hints, stop="gpu")
    return result.stage("gpu").text, result.all_remarks


@pytest.mark.parametrize("kernel", [kernels.product, kernels.persistent])
@pytest.mark.parametrize("columns", [64, 128, 256])
def test_pairs_are_chosen(kernel: Any, columns: int) -> None:
    text, remarks = raw(kernel, columns=columns)
    assert " cluster 2 " in text and "tcgen05_mma f16 pair" in text
    assert "tilec.cluster_choice" in text and not remarks


def test_pair_that_a_hint_asks_for_has_no_reason() -> None:
    text, _ = raw(kernels.product, num_ctas=2)
    assert " cluster 2 " in text and "tilec.cluster_choice" not in text


# A kernel, its rows and columns, its target and hints that one block computes.
ONE_BLOCK = {
    "hint of the compile": (kernels.product, 256, 128, TARGET, {"num_ctas": 1}),
    "hint of the kernel": (kernels.product_of_one_block, 256, 128, TARGET, {}),
    "several blocks per SM": (kernels.product, 256, 128, TARGET, {"occupancy": 2}),
    "without TMA": (kernels.product, 256, 128, TARGET, {"tma": False}),
    "one role": (kernels.product, 256, 128, TARGET, {"roles": False}),
    "no ring": (kernels.product, 256, 128, TARGET, {"pipeline": False}),
    "128 rows": (kernels.product, 128, 128, TARGET, {}),
    "no tensor memory": (kernels.product, 256, 128, "sm_90a", {}),
    "position from memory": (kernels.of_chosen_columns, 256, 128, TARGET, {}),
    "assertion": (kernels.asserted, 256, 128, TARGET, {}),
    "print": (kernels.printed, 256, 128, TARGET, {}),
    "atomic": (kernels.counted, 256, 128, TARGET, {}),
    "rows of both blocks": (kernels.greatest_of_columns, 256, 128, TARGET, {}),
    "computed operand": (kernels.of_sums, 256, 128, TARGET, {}),
}


@pytest.mark.parametrize("name", ONE_BLOCK)
def test_one_block_without_a_word_about_clusters(name: str) -> None:
    kernel, rows, columns, target, hints = ONE_BLOCK[name]
    text, remarks = raw(kernel, rows, columns, target=target, **hints)
    assert not re.search(r" cluster \d", text) and "cluster_rank" not in text
    assert not [remark for remark in remarks if "num_ctas" in remark.message or "cluster" in remark.message]


@pytest.mark.parametrize(("columns", "depth"), [(64, 64), (128, 64), (256, 64), (128, 128)])
def test_times(columns: int, depth: int) -> None:
    """Two blocks read half of the right operand each, which shared memory delivers in less time."""
    target = target_named(TARGET)
    times = pair_times((256, columns, depth), 16, target, device_of(TARGET))
    assert times.pair_is_faster and 1.0 < times.block / times.pair < 1.5


def rows(kernel: Any, size: int, target: str, **hints: Any) -> Any:
    signature = f"X: f32[8,131072], Y: f32[8,131072], SIZE={size}"
    return tilec.compile(kernel, signature=signature, target=target, hints=hints, stop="gpu")


@pytest.mark.parametrize(("size", "ctas"), [(65536, 2), (131072, 4)])
def test_long_rows_are_divided_until_registers_suffice(size: int, ctas: int, target: str) -> None:
    result = rows(kernels.softmax, size, target)
    assert f" cluster {ctas} " in result.gpu and result.gpu.count("tile_gpu.gather_parts") == 2
    cost = result.explain("cost")
    assert re.search(rf"  {ctas} blocks per tile, chosen because a block would need \d+ registers per thread of", cost)


def test_the_plan_says_why_one_block_computes_a_tile(target: str) -> None:
    plan = rows(kernels.softmax, 32768, target, warps=8).explain("plan")
    reason = r"a block needs \d+ registers per thread of \d+; runner-up: 2"
    assert re.search(rf"CTAs per tile block: 1; {reason}", plan), plan


def test_the_plan_says_that_sums_of_a_pair_have_too_many_columns() -> None:
    signature = PRODUCT.format(256, 256)
    plan = tilec.compile(kernels.three_products, signature=signature, target=TARGET, stop="gpu-raw").explain("plan")
    assert "CTAs per tile block: 1; the accumulators of a pair do not fit tensor memory" in plan


LONG_ROWS_OF_ONE_BLOCK = {
    "enough registers": (kernels.softmax, 16384, {}),
    "hint": (kernels.softmax, 65536, {"num_ctas": 1}),
    "elements of other blocks": (kernels.running_sum, 65536, {}),
}


@pytest.mark.parametrize("name", LONG_ROWS_OF_ONE_BLOCK)
def test_rows_of_one_block(name: str, target: str) -> None:
    kernel, size, hints = LONG_ROWS_OF_ONE_BLOCK[name]
    result = rows(kernel, size, target, **hints)
    assert " cluster " not in result.gpu and not [remark for remark in result.all_remarks if remark.topic == "hint"]


def test_one_role_has_a_remark(target: str) -> None:
    result = rows(kernels.sums_of_tiles, 4096, target, num_ctas=2)
    remarks = [remark for remark in result.all_remarks if remark.topic == "roles"]
    if target == "sm_90a":
        assert not remarks, "threads load: no role is lost"
        return
    (remark,) = remarks
    assert "all warps of a cluster take part in the exchange of a reduction" in remark.message
