"""Modules of tile_gpu round trip, and the verifier rejects violations of the rules of the README."""

from __future__ import annotations

import pytest
from gpu_text import MATMUL, kernel

from tilec.dialect.mlir import context, ir

LAYOUT = "register=none lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=1"


def test_text_round_trips():
    module = kernel(MATMUL)
    with context():
        again = ir.Module.parse(str(module))
    assert str(again) == str(module)


def roles(names: str, warps: str) -> str:
    """Roles with the bodies of two."""
    bodies = ", ".join(["{ ^bb0: }"] * 2 + ["{ }"] * 6)
    return f'"tile_gpu.roles"() ({bodies}) {{names = [{names}], warps = array<i32: {warps}>}} : () -> ()\n'


# Description -> an invalid body, and the message of the verifier.
REFUSALS = {
    "slot of another channel": (
        '%s = "tile_gpu.put_begin"(%ca) {resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_a) -> !b\n',
        "expected the buffers of the channel",
    ),
    "consumer that does not exist": (
        '%s = "tile_gpu.get"(%ca) {consumer = 1 : i32, resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_a) -> !a\n',
        "the channel has 1 consumers, but this one is number 1",
    ),
    "unknown producer": (
        '%c = "tile_gpu.make_channel"() {stages = 1 : i32, producer = "dma", consumers = ["mma"], reuse = "ring", '
        "operandSegmentSizes = array<i32: 0>} : () -> !of_a\n",
        "must be one of: tma, threads, mma",
    ),
    "unknown consumer": (
        '%c = "tile_gpu.make_channel"() {stages = 1 : i32, producer = "tma", consumers = ["dma"], reuse = "ring", '
        "operandSegmentSizes = array<i32: 0>} : () -> !of_a\n",
        "consumers must be some of: threads, mma, wgmma",
    ),
    "roles without a body each": (
        roles('"compute"', "4"),
        "expected a body for each of compute and no other, but got 2",
    ),
    "too many roles": (
        roles(", ".join(f'"r{number}"' for number in range(9)), "4, 1, 1, 1, 1, 1, 1, 1, 1"),
        "expected 1 to 8 roles, but got 9",
    ),
    "zero stages": (
        '%c = "tile_gpu.make_channel"() {stages = 0 : i32, producer = "tma", consumers = ["mma"], reuse = "ring", '
        "operandSegmentSizes = array<i32: 0>} : () -> !of_a\n",
        "stages must be positive, but got 0",
    ),
    "shared slots of another type": (
        '%c = "tile_gpu.make_channel"(%cb) {stages = 1 : i32, producer = "threads", consumers = ["mma"], '
        'reuse = "once", '
        "operandSegmentSizes = array<i32: 1>} : (!of_b) -> !of_a\n",
        "shared slots must have the type of the channel",
    ),
    "incompatible shapes of a multiply": (
        '%s = "tile_gpu.get"(%ca) {consumer = 0 : i32, resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_a) -> !a\n'
        '%d = "tile_gpu.put_begin"(%cd) {resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_d) -> !d\n'
        '"tile_gpu.tcgen05_mma"(%d, %s, %s, %yes) {kind = "f16", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>}'
        " : (!d, !a, !a, i1) -> ()\n",
        "expected MxK, KxN and MxN",
    ),
    "tile and buffer of different shapes": (
        '%s = "tile_gpu.shared"() {operandSegmentSizes = array<i32: 0>} : () -> !b\n'
        '%t = "tile_gpu.load_shared"(%s) : (!b) -> !half\n',
        "tile and buffer must agree",
    ),
    "map with too few strides": (
        '%m = "tile_gpu.make_tensor_map"(%p, %n, %n) {box = array<i32: 64, 64>, element = "f16", fill = "zero", '
        'swizzle = "128B", operandSegmentSizes = array<i32: 1, 2, 0>} : (i64, i32, i32) -> !map\n',
        "expected 2 extents and 1 strides",
    ),
    "view with too few offsets": (
        '%t = "tile_gpu.load_view"(%p, %n, %n, %n) {vector = 1 : i32, padding = "zero", '
        "operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (i64, i32, i32, i32) -> !half\n",
        "expected 2 offsets, extents and strides each",
    ),
    "vector without a dimension": (
        '%t = "tile_gpu.load_view"(%p, %n, %n, %n, %n, %n, %n) {vector = 4 : i32, padding = "zero", '
        "operandSegmentSizes = array<i32: 1, 2, 2, 2, 0>} : (i64, i32, i32, i32, i32, i32, i32) -> !half\n",
        "a vector and its dimension come together, but got vector 4, dimension None",
    ),
    "vector along an unknown dimension": (
        '%t = "tile_gpu.load_view"(%p, %n, %n, %n, %n, %n, %n) {vector = 4 : i32, vector_dimension = 2 : i32, '
        'padding = "zero", operandSegmentSizes = array<i32: 1, 2, 2, 2, 0>} '
        ": (i64, i32, i32, i32, i32, i32, i32) -> !half\n",
        "expected a vector dimension below 2, but got 2",
    ),
    "sparse dimension without indices": (
        '%t = "tile_gpu.load_view"(%p, %n, %n, %n, %n, %n, %n) {vector = 1 : i32, sparse_dimension = 0 : i32, '
        'padding = "zero", operandSegmentSizes = array<i32: 1, 2, 2, 2, 0>} '
        ": (i64, i32, i32, i32, i32, i32, i32) -> !half\n",
        "indices and their dimension come together, but got dimension 0",
    ),
    "conversion to a layout of another shape": (
        f'%t = "tile_gpu.splat"(%n) : (i32) -> tensor<1xi32, "{LAYOUT}">\n'
        f'%c = "tile_gpu.convert_layout"(%t) : (tensor<1xi32, "{LAYOUT}">) -> tensor<2xi32, "{LAYOUT}">\n',
        "source and result must have the same shape",
    ),
    "result of another element type": (
        f'%t = "tile_gpu.splat"(%n) : (i32) -> tensor<1xi64, "{LAYOUT}">\n',
        "source and result must have the same element type",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_invalid_body_is_rejected(name):
    body, message = REFUSALS[name]
    with pytest.raises(ir.MLIRError) as caught:
        kernel(body)
    assert message in str(caught.value)


def test_warps_must_be_a_multiple_of_a_warpgroup():
    text = str(kernel("")).replace("warps = 4", "warps = 6")
    with context(), pytest.raises(ir.MLIRError, match="positive multiple of 4, but got 6"):
        ir.Module.parse(text)
