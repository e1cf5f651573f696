"""The instructions that `release` issues for each kind of channel (dialect/tile_gpu/README.md)."""

from __future__ import annotations

import re

import pytest
from gpu_text import kernel

from tilec.lowering.gpu_to_ptx.kernel import convert
from tilec.lowering.ptx.emit import emit

FENCE = "fence.proxy.async.shared::cta;"
ARRIVE = "mbarrier.arrive.shared::cta.b64"

# One slot, filled in each iteration and read by every thread.
READ_BACK = """
  %ct = "tile_gpu.make_channel"() {stages = 1 : i32, producer = "PRODUCER", consumers = ["threads"], reuse = "REUSE",
    operandSegmentSizes = array<i32: 0>} : () -> !of_a
  scf.for %k = %zero to %n step %one : i32 {
    %s = "tile_gpu.put_begin"(%ct) {resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_a) -> !a
    FILL
    "tile_gpu.put_commit"(%ct) : (!of_a) -> ()
    %g = "tile_gpu.get"(%ct) {consumer = 0 : i32, resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_a) -> !a
    %t = "tile_gpu.load_shared"(%g) : (!a) -> !half
    "tile_gpu.release"(%ct) {consumer = 0 : i32} : (!of_a) -> ()
    "tile_gpu.store_view"(%t, %p, %zero, %zero, %n, %n, %n, %one) {vector = 1 : i32,
      operandSegmentSizes = array<i32: 1, 1, 2, 2, 2, 0>} : (!half, i64, i32, i32, i32, i32, i32, i32) -> ()
  } {tile_gpu.id = 0 : i32}
"""
FILLS = {
    "tma": """"tile_gpu.tma_load"(%ma, %zero, %zero, %s, %ct) {operandSegmentSizes = array<i32: 1, 2, 0, 0, 1, 1>}
      : (!map, i32, i32, !a, !of_a) -> ()""",
    "threads": """%c = arith.constant dense<0.0> : !half
    "tile_gpu.store_shared"(%c, %s) : (!half, !a) -> ()""",
}


def instructions(producer: str, reuse: str) -> list[str]:
    """The memory instructions after the last read of the slot, up to the end of the iteration."""
    body = READ_BACK.replace("PRODUCER", producer).replace("REUSE", reuse).replace("FILL", FILLS[producer])
    lines = [re.sub(r"//.*", "", line).strip() for line in emit(convert(kernel(body))).splitlines()]
    last = max(number for number, line in enumerate(lines) if re.search(r"\bld\.shared", line))
    return [line for line in lines[last:] if FENCE in line or ARRIVE in line]


@pytest.mark.parametrize(
    ("producer", "reuse", "expected"),
    [("tma", "ring", [FENCE, ARRIVE]), ("threads", "ring", [ARRIVE]), ("tma", "once", []), ("threads", "once", [])],
)
def test_generic_reads_are_fenced_before_tma_overwrites_the_slot(producer, reuse, expected):
    found = instructions(producer, reuse)
    assert len(found) == len(expected)
    assert all(part in line for part, line in zip(expected, found, strict=True))
