"""Reasons why threads load an operand instead of the role that copies, for which no Python kernel is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.compile_options import DEFAULTS
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.channels.copy_rows import copy_rows
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.target import target_named
from tilec.remarks import Remark
from tilec.text_input.stage_module import read_stage_module

# A kernel with two operands that a role copies: the first by pointers, the second is a tile of a view.
KERNEL = (Path(__file__).parent / "copy_rows.mlir").read_text()
PARTS = (
    'tensor<32x2x64xf16, "register=(0,0,1)(0,0,2)(0,0,4)(16,0,0)(0,0,8)(0,0,16) '
    'lane=(0,0,32)(0,1,0)(1,0,0)(2,0,0)(4,0,0) warp=(8,0,0)(0,0,0) shape=32x2x64">'
)
LOAD_OF_ANOTHER_TILE = """
    %other = tile_gpu.load_global %pointers vector 8 repeatable : !p -> !t
    %slot = tile_gpu.put_begin %left : channel<[!a]>
    tile_gpu.store_shared %other, %slot : !t -> !a
    tile_gpu.put_commit %left : channel<[!a]>
"""
MOVES = f"""
    %parts = tile_gpu.reshape %y : !t -> {PARTS}
    %moved = tile_gpu.reshape %parts : {PARTS} -> !t
"""
# By the reason: what is changed in the kernel, and the slots of the operands that have a remark.
REASONS = {
    "several blocks of an SM leave a role that copies no registers": (
        [("warps 4 {", "warps 4 attributes {tilec.occupancy = 2 : i32} {")],
        ["%s0", "%s1"],
    ),
    "several tiles use one ring": ([("    %bound = ", f"{LOAD_OF_ANOTHER_TILE}    %bound = ")], ["%s0"]),
    "its elements are moved on their way": (
        [("    %s0 = ", f"{MOVES}    %s0 = "), ("store_shared %y", "store_shared %moved")],
        ["%s1"],
    ),
}


def remarks(text: str) -> list[Remark]:
    module = read_stage_module(text, "kernel.mlir")
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    context = Context.of(kernel, target_named(kernel.target), DEFAULTS, [])
    with module.context:
        copy_rows(kernel, context)
    return context.remarks


def test_unchanged_kernel_has_no_remark() -> None:
    assert remarks(KERNEL) == []


@pytest.mark.parametrize("reason", REASONS)
def test_reason(reason: str) -> None:
    changes, slots = REASONS[reason]
    text = KERNEL
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    lines = text.splitlines()
    stores = [number for slot in slots for number, line in enumerate(lines, 1) if f", {slot} : !t" in line]
    found = remarks(text)
    message = f"threads load the operand and store it in shared memory: {reason}"
    assert [each.message for each in found] == [message] * len(slots)
    assert [each.location and each.location.line for each in found] == stores
