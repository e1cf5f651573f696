"""Kernels of tile_gpu as text: `kernel(body)` returns a module that declares the aliases and values that bodies use."""

from __future__ import annotations

from tilec.dialect.mlir import context, ir

ALIASES = """
!a = !tile_gpu.buffer<array<i64: 128, 64>, f16, "shared", "contiguous=1 swizzle=128B">
!b = !tile_gpu.buffer<array<i64: 64, 64>, f16, "shared", "contiguous=1 swizzle=128B">
!d = !tile_gpu.buffer<array<i64: 128, 64>, f32, "tensor", "lanes=128">
!of_a = !tile_gpu.channel<[!a]>
!of_b = !tile_gpu.channel<[!b]>
!of_d = !tile_gpu.channel<[!d]>
!map = !tile_gpu.tensor_map
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
!tile = tensor<128x64xf32, #rows>
!one = tensor<1xi32, "register=none lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=1">
!half = tensor<128x64xf16, #rows>
"""

DECLARATIONS = """
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %size = arith.constant 64 : i32
  %yes = arith.constant true
  %ma = "tile_gpu.make_tensor_map"(%p, %n, %n, %n) {box = array<i32: 64, 128>, element = "f16", fill = "zero",
    swizzle = "128B", operandSegmentSizes = array<i32: 1, 2, 1>} : (i64, i32, i32, i32) -> !map
  %mb = "tile_gpu.make_tensor_map"(%p, %n, %n, %n) {box = array<i32: 64, 64>, element = "f16", fill = "zero",
    swizzle = "128B", operandSegmentSizes = array<i32: 1, 2, 1>} : (i64, i32, i32, i32) -> !map
  %ca = "tile_gpu.make_channel"() {stages = 1 : i32, producer = "tma", consumers = ["mma"], reuse = "ring",
    operandSegmentSizes = array<i32: 0>} : () -> !of_a
  %cb = "tile_gpu.make_channel"() {stages = 1 : i32, producer = "tma", consumers = ["mma"], reuse = "ring",
    operandSegmentSizes = array<i32: 0>} : () -> !of_b
  %cd = "tile_gpu.make_channel"() {stages = 1 : i32, producer = "mma", consumers = ["threads"], reuse = "once",
    operandSegmentSizes = array<i32: 0>} : () -> !of_d
"""

# One multiply per iteration: operands loaded by TMA, the accumulator in tensor memory until the loop ends.
MATMUL = """
  %d = "tile_gpu.put_begin"(%cd) {resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_d) -> !d
  scf.for %k = %zero to %n step %one : i32 {
    %x = arith.muli %k, %size : i32
    %sa = "tile_gpu.put_begin"(%ca) {resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_a) -> !a
    "tile_gpu.tma_load"(%ma, %x, %zero, %sa, %ca) {operandSegmentSizes = array<i32: 1, 2, 0, 0, 1, 1>}
      : (!map, i32, i32, !a, !of_a) -> ()
    "tile_gpu.put_commit"(%ca) : (!of_a) -> ()
    %sb = "tile_gpu.put_begin"(%cb) {resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_b) -> !b
    "tile_gpu.tma_load"(%mb, %zero, %x, %sb, %cb) {operandSegmentSizes = array<i32: 1, 2, 0, 0, 1, 1>}
      : (!map, i32, i32, !b, !of_b) -> ()
    "tile_gpu.put_commit"(%cb) : (!of_b) -> ()
    %ga = "tile_gpu.get"(%ca) {consumer = 0 : i32, resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_a) -> !a
    %gb = "tile_gpu.get"(%cb) {consumer = 0 : i32, resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_b) -> !b
    "tile_gpu.tcgen05_mma"(%d, %ga, %gb, %yes) {id = 1 : i32, kind = "f16",
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!d, !a, !b, i1) -> ()
    "tile_gpu.release"(%ca) {consumer = 0 : i32} : (!of_a) -> ()
    "tile_gpu.release"(%cb) {consumer = 0 : i32} : (!of_b) -> ()
  } {tile_gpu.id = 0 : i32}
  "tile_gpu.put_commit"(%cd) : (!of_d) -> ()
  %g = "tile_gpu.get"(%cd) {consumer = 0 : i32, resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (!of_d) -> !d
  %t = "tile_gpu.load_tensor_memory"(%g) : (!d) -> !tile
  "tile_gpu.release"(%cd) {consumer = 0 : i32} : (!of_d) -> ()
  %h = arith.truncf %t : !tile to !half
  "tile_gpu.store_view"(%h, %p, %zero, %zero, %n, %n, %n, %one) {vector = 1 : i32,
    operandSegmentSizes = array<i32: 1, 1, 2, 2, 2, 0>} : (!half, i64, i32, i32, i32, i32, i32, i32) -> ()
"""


def kernel(body: str) -> ir.Module:
    """A parsed and verified module; raises ir.MLIRError with the diagnostics of the verifier."""
    text = (
        ALIASES
        + '"tile_gpu.kernel"() ({\n^bb0(%p: i64, %n: i32):'
        + DECLARATIONS
        + body
        + '  "tile_gpu.return"() : () -> ()\n}) {sym_name = "k", target = "sm_100a", warps = 4 : i32, '
        + "function_type = (i64, i32) -> ()} : () -> ()\n"
    )
    with context():
        return ir.Module.parse(text)


def nested_names(operation: ir.Operation) -> list[str]:
    """The names of all nested operations of tile_gpu, in order, without the dialect."""
    found = []
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                if op.operation.name.startswith("tile_gpu."):
                    found.append(op.operation.name.removeprefix("tile_gpu."))
                found += nested_names(op.operation)
    return found
