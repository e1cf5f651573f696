"""Runs upstream passes, passes of tilec and patterns of this file over one module, in a context of this file.

    python examples/upstream_passes.py

The module contains a Tile IR kernel and a function of `func` and `arith`. The kernel contains an operation of a dialect
that this file defines. The same pipelines run over the whole module; then the kernel is compiled and simulated.
"""

import sys
from typing import Any

import numpy as np

import tilec
from tilec import pipeline
from tilec.dialect.build import build
from tilec.dialect.cuda_tile.operations.float import MulFOp
from tilec.dialect.mlir import ext, ir, passmanager, register, rewrite

VIEW = "tensor_view<4x256xf32, strides=[256,1]>"
# y[i] = sum over k of (s * x[k, i])^2
KERNEL = f"""\
cuda_tile.module @kernels {{
  entry @squares(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %s: tile<f32>) {{
    %block, %_, %__ = get_tile_block_id : tile<i32>
    %rows = make_tensor_view %x, shape = [4, 256], strides = [256, 1] : {VIEW}
    %tiles = make_partition_view %rows : partition_view<tile=(1x128), {VIEW}>
    %from = constant <i32: 0> : tile<i32>
    %to = constant <i32: 4> : tile<i32>
    %step = constant <i32: 1> : tile<i32>
    %zero = constant <f32: 0.0> : tile<1x128xf32>
    %shaped = reshape %s : tile<f32> -> tile<1x1xf32>
    %scale = broadcast %shaped : tile<1x1xf32> -> tile<1x128xf32>
    %sum = for %k in (%from to %to, step %step) : tile<i32> iter_values(%acc = %zero) -> (tile<1x128xf32>) {{
      %row, %t = load_view_tko weak %tiles[%k, %block]
          : partition_view<tile=(1x128), {VIEW}>, tile<i32> -> tile<1x128xf32>, token
      %factor = mulf %scale, %scale : tile<1x128xf32>
      %square = mulf %row, %row : tile<1x128xf32>
      %term = mulf %factor, %square : tile<1x128xf32>
      %next = addf %acc, %term : tile<1x128xf32>
      continue %next : tile<1x128xf32>
    }}
    %out = make_tensor_view %y, shape = [1, 256], strides = [256, 1] : tensor_view<1x256xf32, strides=[256,1]>
    %outs = make_partition_view %out : partition_view<tile=(1x128), tensor_view<1x256xf32, strides=[256,1]>>
    %none = constant <i32: 0> : tile<i32>
    %u = store_view_tko weak %sum, %outs[%none, %block]
        : tile<1x128xf32>, partition_view<tile=(1x128), tensor_view<1x256xf32, strides=[256,1]>>, tile<i32> -> token
    return
  }}
}}
"""
HOST = """
func.func private @unused()
func.func @blocks(%n: i32) -> i32 {
  %one = arith.constant 1 : i32
  %tile = arith.constant 128 : i32
  %last = arith.subi %tile, %one : i32
  %again = arith.subi %tile, %one : i32
  %up = arith.addi %n, %again : i32
  %down = arith.divui %up, %tile : i32
  return %down : i32
}
"""


class Own(ext.Dialect, name="own"):
    """A dialect that this file defines."""


class SquareOp(Own.Operation, name="square"):
    """source * source. It declares no effects, so that passes do not move or remove it."""

    # IRDL cannot refer to types of other dialects, so Tile IR types are declared as Any.
    result: ext.Result[Any]
    source: ext.Operand[Any]


def find_squares(op, rewriter) -> bool:
    """mulf(a, a) -> own.square(a); returns True if the pattern does not match, as the bindings require."""
    if op.lhs != op.rhs:
        return True
    with rewriter.ip, op.location:
        square = SquareOp(op.result.type, op.lhs)
    rewriter.replace_op(op, [square.result])
    return False


def multiply_squares(op, rewriter) -> None:
    """own.square(a) -> mulf(a, a)."""
    with rewriter.ip, op.location:
        product = build("mulf", [op.source, op.source], [op.result.type])
    rewriter.replace_op(op, [product.result])


def greedy_pass(root, pattern):
    """A pass that applies a pattern to all operations of one class until the module does not change."""

    def run(operation, _pass) -> None:
        with operation.context:
            patterns = rewrite.RewritePatternSet()
            patterns.add(root, pattern)
            rewrite.apply_patterns_and_fold_greedily(operation, patterns.freeze())

    return run


def module_in(context: ir.Context) -> ir.Module:
    """The kernel and the function in one module."""
    with context, ir.Location.unknown():
        module = tilec.Module.parse(KERNEL, "kernel.mlir").ir
        for function in ir.Module.parse(HOST).body.operations:
            function.operation.clone(ip=ir.InsertionPoint(module.body))
    return module


def first_pipeline(context: ir.Context) -> passmanager.PassManager:
    """Converts products to operations of this file's dialect, then runs passes of upstream and of tilec."""
    with context:
        manager = passmanager.PassManager("builtin.module")
    manager.add(greedy_pass(MulFOp, find_squares), name="find-squares")
    manager.add("canonicalize,cse,symbol-dce")
    for name in ("simplify", "hoist-invariants", "prune-tokens"):
        pipeline.add(manager, name)
    return manager


def second_pipeline(context: ir.Context) -> passmanager.PassManager:
    """Converts the operations back to products, then runs the passes that this enables."""
    with context:
        manager = passmanager.PassManager("builtin.module")
    manager.add(greedy_pass(SquareOp, multiply_squares), name="multiply-squares")
    pipeline.add(manager, "hoist-invariants")
    pipeline.add(manager, "fuse-fma")
    manager.add("canonicalize,cse")
    return manager


def show(title: str, module: ir.Module) -> None:
    """Prints the operations of the loop in the kernel, and the number of operations of the function."""
    kernel, function = (op.regions[0].blocks[0].operations for op in module.body.operations)
    loop = next(op for op in kernel if op.operation.name == "cuda_tile.for")
    names = [op.operation.name.removeprefix("cuda_tile.") for op in loop.body.blocks[0].operations]
    print(f"{title:8}{len(kernel)} operations, in the loop: {', '.join(names)}; {len(function)} in the function")


def main() -> int:
    context = register(ir.Context())
    with context:
        Own.load()
    module = module_in(context)
    first_pipeline(context).run(module.operation)
    show("first", module)
    second_pipeline(context).run(module.operation)
    show("second", module)

    random = np.random.default_rng(0)
    x, y, scale = random.random((4, 256), np.float32), np.zeros(256, np.float32), np.float32(1.5)
    tilec.run(tilec.Module(module), (2, 1, 1), (x, y, scale), entry="squares")
    error = np.abs(y - np.sum((scale * x.astype(np.float64)) ** 2, axis=0)).max()
    # Two roundings per term and four of the sum, for numbers less than 4 * 1.5^2 with 24 bits.
    passed = error <= 6 * 9 * 2.0**-24
    print(f"{'PASSED' if passed else 'FAILED'}: largest error {error:.1e}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
