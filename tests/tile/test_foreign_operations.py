"""Passes do not change operations of other dialects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilec import pipeline
from tilec.dialect.build import build
from tilec.dialect.mlir import context, ext, ir, passmanager, register
from tilec.driver.backends import run
from tilec.errors import InputError, UsageError
from tilec.lowering.gpu.passes import PASSES as GPU_PASSES
from tilec.lowering.gpu.passes import columns_needed
from tilec.lowering.tile.expand.insert_checks import insert_checks
from tilec.lowering.tile.passes import PASSES as TILE_PASSES
from tilec.lowering.tile_to_gpu.kernel import convert
from tilec.remarks import Remark
from tilec.text_input.module import Module

ASSEMBLY = sorted((Path(__file__).parents[1] / "dialect" / "assembly").glob("*.mlir"))
FOREIGN = "other.forward"
# Operations whose bodies must not have effects; an unknown operation may have effects.
REDUCTIONS = ("cuda_tile.reduce", "cuda_tile.scan")
DOUBLED = """\
!view = tensor_view<4xi32, strides=[1]>
!tiles = partition_view<tile=(4), !view>
cuda_tile.module @kernels {
  entry @doubled(%p: tile<ptr<i32>>) {
    %view = make_tensor_view %p, shape = [4], strides = [1] : !view
    %tiles = make_partition_view %view : !tiles
    %zero = constant <i32: 0> : tile<i32>
    %a, %t = load_view_tko weak %tiles[%zero] : !tiles, tile<i32> -> tile<4xi32>, token
    %b = addi %a, %a : tile<4xi32>
    %u = store_view_tko weak %b, %tiles[%zero] token = %t : tile<4xi32>, !tiles, tile<i32> -> token
    return
  }
}
"""


@pytest.fixture
def user_context() -> ir.Context:
    created = register(ir.Context())
    created.allow_unregistered_dialects = True
    return created


def insert_foreign_operations(module: ir.Module) -> int:
    """Inserts an unregistered operation that forwards each result; returns the number of insertions."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in REDUCTIONS:
            found.append(operation)
            return ir.WalkResult.SKIP
        found.extend([operation] * bool(operation.results))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for operation in found:
        for result in operation.results:
            with operation.location:
                forward = ir.Operation.create(FOREIGN, [result.type], [result], ip=ir.InsertionPoint.after(operation))
            result.replace_all_uses_except(forward.result, forward)
    return sum(len(operation.results) for operation in found)


def count(module: ir.Module) -> int:
    return module.operation.get_asm(print_generic_op_form=True).count(f'"{FOREIGN}"')


@pytest.mark.parametrize("name", TILE_PASSES)
def test_passes_over_tile_ir_keep_foreign_operations(user_context: ir.Context, name: str) -> None:
    for path in ASSEMBLY:
        with user_context:
            module = Module.read(path).ir
            inserted = insert_foreign_operations(module)
            manager = passmanager.PassManager("builtin.module")
        assert count(module) == inserted
        pipeline.add(manager, name).run(module.operation)
        assert count(module) == inserted, path.stem
        assert module.operation.verify()


def test_pure_operations_of_a_python_dialect_are_hoisted(user_context: ir.Context) -> None:
    class Shop(ext.Dialect, name="shop_of_the_foreign_test"):
        pass

    class PriceOp(Shop.Operation, name="price", traits=[ext.Pure]):
        __annotations__ = {"result": ext.Result[Any], "source": ext.Operand[Any]}

    with user_context:
        Shop.load()
        module = Module.parse(
            "cuda_tile.module @kernels {\n  entry @k(%n: tile<i32>) {\n    loop {\n"
            '      print_tko "%i", %n : tile<i32> -> token\n      continue\n    }\n  }\n}\n'
        ).ir
        kernel = module.body.operations[0].regions[0].blocks[0]
        inside = kernel.operations[0].body.blocks[0]
        printed, number = inside.operations[0].operation, kernel.arguments[0]
        with ir.InsertionPoint(printed), ir.Location.unknown():
            printed.operands[0] = PriceOp(number.type, number).result
        pipeline.add(passmanager.PassManager("builtin.module"), "hoist-invariants").run(module.operation)
    assert [op.OPERATION_NAME for op in kernel.operations] == [
        "shop_of_the_foreign_test.price",
        "cuda_tile.loop",
        "cuda_tile.return",
    ]


def test_functions_beside_the_kernel_are_kept(user_context: ir.Context) -> None:
    function = "  func.func @f(%arg0: i32) -> i32 {\n    return %arg0 : i32\n  }\n"
    with user_context:
        module = Module.parse(DOUBLED).ir
        for operation in ir.Module.parse(function).body.operations:
            operation.operation.clone(ip=ir.InsertionPoint(module.body))
        manager = passmanager.PassManager("builtin.module")
        for name in TILE_PASSES:
            pipeline.add(manager, name)
        manager.run(module.operation)
    assert function in str(module)
    numbers = np.array([1, 2, 3, 4], np.int32)
    run(Module(module), (1,), [numbers], backend="interpret")
    assert list(numbers) == [2, 4, 6, 8]


def test_passes_over_tile_gpu_keep_foreign_operations(user_context: ir.Context) -> None:
    with user_context:
        module = convert(Module.parse(DOUBLED).ir, target="sm_90a", count_columns=columns_needed)
        body = module.body.operations[0].regions[0].blocks[0]
        with ir.Location.unknown():
            ir.Operation.create(FOREIGN, [], [], ip=ir.InsertionPoint.at_block_begin(body))
        manager = passmanager.PassManager("builtin.module")
        for name in GPU_PASSES:
            pipeline.add(manager, name, target="sm_90a")
        manager.run(module.operation)
    assert count(module) == 1


def test_tokens_of_foreign_operations_have_unknown_dependencies(user_context: ir.Context) -> None:
    """join(a, forward(a)) keeps both operands, because the result of forward may not depend on its operand."""
    with user_context:
        module = Module.parse(
            "cuda_tile.module @kernels {\n  entry @k(%p: tile<ptr<i32>>) {\n"
            "    %one = constant <i32: 1> : tile<i32>\n"
            "    %a = store_ptr_tko weak %p, %one : tile<ptr<i32>>, tile<i32> -> token\n"
            "    %b = store_ptr_tko weak %p, %one token = %a : tile<ptr<i32>>, tile<i32> -> token\n  }\n}\n"
        ).ir
        last = module.body.operations[0].regions[0].blocks[0].operations[2].operation
        with ir.InsertionPoint(last), ir.Location.unknown():
            first = last.operands[2]
            other = ir.Operation.create(FOREIGN, [first.type], [first]).result
            last.operands[2] = build("join_tokens", [first, other], [first.type]).result
        pipeline.add(passmanager.PassManager("builtin.module"), "prune-tokens").run(module.operation)
    assert "cuda_tile.join_tokens" in str(module)


def test_foreign_effects_in_a_reduction_are_an_error(user_context: ir.Context) -> None:
    with user_context:
        module = Module.read(next(path for path in ASSEMBLY if path.stem == "reduce")).ir
        found: list[ir.Operation] = []

        def visit(operation: ir.Operation) -> ir.WalkResult:
            found.extend([operation] * (operation.name in REDUCTIONS))
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        with ir.Location.unknown():
            ir.Operation.create(FOREIGN, [], [], ip=ir.InsertionPoint.at_block_begin(found[0].regions[0].blocks[0]))
    with pytest.raises(ir.MLIRError) as caught:
        module.operation.verify()
    message = f"only memory-effect-free operations are allowed inside, but found '{FOREIGN}'"
    assert message in caught.value.error_diagnostics[0].message


def test_foreign_operations_have_no_tile_ir_assembly(user_context: ir.Context) -> None:
    with user_context:
        module = Module.parse(DOUBLED, "doubled.mlir")
        insert_foreign_operations(module.ir)
    with pytest.raises(InputError, match=f"doubled.mlir:5:13: error: '{FOREIGN}' has no form in Tile IR assembly"):
        module.to_text()
    assert FOREIGN in module.to_text(generic=True)


def test_unknown_pass_is_a_usage_error() -> None:
    with context():
        manager = passmanager.PassManager("builtin.module")
    with pytest.raises(UsageError, match="unknown pass 'fuse': expected one of canonicalize, cse, "):
        pipeline.add(manager, "fuse")


OF_ANY_EXTENT = """\
!view = tensor_view<?xi32, strides=[1]>
!tiles = partition_view<tile=(4), !view>
entry @first(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %view = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> !view
  %tiles = make_partition_view %view : !tiles
  %a, %t = load_view_tko weak %tiles[%n] inbounds = [true] : !tiles, tile<i32> -> tile<4xi32>, token
  return
}
"""


def test_access_through_a_foreign_view_has_a_remark_instead_of_a_check(user_context: ir.Context) -> None:
    remarks: list[Remark] = []
    with user_context:
        module = Module.parse(OF_ANY_EXTENT, "k.mlir").ir
        insert_foreign_operations(module)
        insert_checks(module, remarks)
    assert [remark.message for remark in remarks] == [
        "the access has no check: an operation of another dialect makes its view"
    ]
    assert remarks[0].location is not None and remarks[0].location.line == 6
