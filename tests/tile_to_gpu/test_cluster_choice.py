"""Pairs of blocks compute a product of 256 rows without a hint if they are possible and the model says faster."""

from __future__ import annotations

from typing import Any

import cluster_choice_kernels as kernels
import pytest

import tilec
from tilec.lowering.model.constants import device_of
from tilec.lowering.model.pairs import pair_times
from tilec.lowering.target import target_named

TARGET = "sm_100a"
ARRAYS = "A: f16[1024,512], B: f16[512,1024], C: f32[1024,1024]"
PRODUCT = f"{ARRAYS}, TM={{}}, TN={{}}, TK=64"


def raw(kernel: Any, rows: int = 256, columns: int = 128, *, target: str = TARGET, **hints: Any) -> tuple[str, Any]:
    signature = PRODUCT.format(rows, columns)
    if kernel is kernels.counted:
        signature = signature.replace(ARRAYS, f"{ARRAYS}, N: i32[1]")
    result = tilec.compile(kernel, signature=signature, target=target, hints=hints, stop="gpu")
    return result.stage("gpu").text, result.remarks


@pytest.mark.parametrize("kernel", [kernels.product, kernels.persistent])
@pytest.mark.parametrize("columns", [128, 256])
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
    "half of the columns below a row of the swizzle": (kernels.product, 256, 64, TARGET, {}),
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
    assert " cluster " not in text and "cluster_rank" not in text
    assert not [remark for remark in remarks if "num_ctas" in remark.message or "cluster" in remark.message]


@pytest.mark.parametrize(("columns", "depth"), [(128, 64), (256, 64), (128, 128)])
def test_times(columns: int, depth: int) -> None:
    """Two blocks read half of the right operand each, which shared memory delivers in less time."""
    target = target_named(TARGET)
    times = pair_times((256, columns, depth), 16, target, device_of(TARGET))
    assert times.pair_is_faster and 1.0 < times.block / times.pair < 1.5
