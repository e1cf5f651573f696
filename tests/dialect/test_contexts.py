"""The dialects in several contexts of the user at once, beside dialects of upstream and of other Python packages."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from tilec.dialect import mlir
from tilec.dialect.assembly.reader import read_module
from tilec.dialect.build import build
from tilec.dialect.cache import forget
from tilec.dialect.cuda_tile.types import TensorViewType, TileType, TokenType
from tilec.dialect.mlir import context, ext, ir, passmanager, register
from tilec.dialect.tile_gpu.types import TensorMapType
from tilec.driver.stages import compile
from tilec.errors import UsageError
from tilec.lowering.tile import passes
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

FILES = sorted((Path(__file__).parent / "assembly").glob("*.mlir"))
TWICE = """\
cuda_tile.module @kernels {
  entry @k(%a: tile<i32>) {
    %one = constant <i32: 1> : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %b = addi %a, %one : tile<i32>
    %c = addi %a, %one : tile<i32>
    %d = addi %b, %zero : tile<i32>
    print_tko "%i %i", %c, %d : tile<i32>, tile<i32> -> token
    return
  }
}
"""
KERNEL = """\
cuda_tile.module @kernels {
  entry @copy(%from: tile<ptr<f32>>, %to: tile<ptr<f32>>, %n: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %source = make_tensor_view %from, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %target = make_tensor_view %to, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %in = make_partition_view %source : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
    %out = make_partition_view %target : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
    %v, %t = load_view_tko weak %in[%x] : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>, tile<i32> \
-> tile<128xf32>, token
    %w = exp %v : tile<128xf32>
    %u = store_view_tko weak %w, %out[%x] : tile<128xf32>, partition_view<tile=(128), tensor_view<?xf32, \
strides=[1]>>, tile<i32> -> token
    return
  }
}
"""


def run(module: ir.Module) -> ir.Module:
    return passes.run(module, evaluate=evaluate)


@pytest.fixture
def users() -> ir.Context:
    return register(ir.Context())


def test_text_is_read_alike_in_every_context(users: ir.Context) -> None:
    for path in FILES:
        ours = Module.read(path)
        with users:
            theirs = Module.read(path)
        with register(ir.Context()):
            others = Module.read(path)
        assert ours.ir.context is context()
        assert theirs.ir.context is users
        assert ours.to_text() == theirs.to_text() == others.to_text() == path.read_text()
        assert ours.to_text(generic=True) == theirs.to_text(generic=True) == others.to_text(generic=True)


def test_types_belong_to_one_context(users: ir.Context) -> None:
    def made() -> list[ir.Type]:
        f32 = ir.F32Type.get()
        return [TileType.get([4], f32), TensorViewType.get([None], f32, [1]), TokenType.get(), TensorMapType.get()]

    with context():
        ours = made()
    with users:
        theirs = made()
        assert theirs == made()
    assert [type.context for type in ours] == [context()] * 4
    assert [type.context for type in theirs] == [users] * 4
    assert all(a != b and str(a) == str(b) for a, b in zip(ours, theirs, strict=True))


def test_verifying_needs_no_context_and_ignores_the_entered_one(users: ir.Context) -> None:
    for path in FILES:
        with users:
            module = read_module(path.read_text())
        forget()
        assert ir.Context.current is None
        module.operation.verify()
        forget()
        with context():
            module.operation.verify()


def test_passes_run_in_the_modules_context(users: ir.Context) -> None:
    with users:
        theirs = Module.parse(TWICE)
    # Another context is entered, as by a library that calls tilec.
    with ir.Context():
        run(theirs.ir)
        text = theirs.to_text()
    assert text.count("addi") == 1
    assert text == Module(run(Module.parse(TWICE).ir)).to_text()


def test_operations_mix_with_upstream_dialects(users: ir.Context) -> None:
    with users, ir.Location.unknown():
        module = ir.Module.parse(
            """
            func.func @f(%n: index, %p: i1) -> index {
              %zero = arith.constant 0 : index
              %one = arith.constant 1 : index
              %sum = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> (index) {
                %t = arith.addi %s, %i : index
                scf.yield %t : index
              }
              return %sum : index
            }
            """
        )
        loop = next(op for op in module.body.operations[0].regions[0].blocks[0].operations if op.name == "scf.for")
        with ir.InsertionPoint.at_block_begin(loop.regions[0].blocks[0]):
            scalar = TileType.get([], ir.IntegerType.get_signless(32))
            index = loop.regions[0].blocks[0].arguments[0]
            cast = ir.Operation.create("builtin.unrealized_conversion_cast", [scalar], [index]).result
            twice = [build("addi", [cast, cast], [scalar]).result for _ in range(2)]
            build("print_tko", [twice, None], [TokenType.get()], {"str": "%i %i"})
    module.operation.verify()
    text = str(module)
    with context():
        assert str(ir.Module.parse(text)) == text
    with users:
        passmanager.PassManager.parse("builtin.module(func.func(canonicalize,cse))").run(module.operation)
    assert text.count("cuda_tile.addi") == 2
    assert str(module).count("cuda_tile.addi") == 1


def test_own_context_loads_other_upstream_dialects_where_they_are_named() -> None:
    # A new one: other tests have named dialects in that of the process.
    with mlir._own.__wrapped__() as own:
        assert [own.is_dialect_loaded(name) for name in ("scf", "func", "vector")] == [True, False, False]
        module = ir.Module.parse("func.func @f(%n: index) -> index { return %n : index }")
        assert [own.is_dialect_loaded(name) for name in ("func", "vector")] == [True, False]
        passmanager.PassManager.parse("builtin.module(func.func(canonicalize,cse))").run(module.operation)
        own.get_dialect_descriptor("vector")
        with ir.Location.unknown():
            made = ir.Operation.create("vector.vscale", [ir.IndexType.get()])
    assert made.verify()


def test_errors_among_operations_of_upstream_dialects_are_reported(users: ir.Context) -> None:
    with users, ir.Location.file("theirs.mlir", 4, 2):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            i32 = ir.IntegerType.get_signless(32)
            constant = ir.Operation.create("arith.constant", [i32], attributes={"value": ir.IntegerAttr.get(i32, 1)})
            build("absi", [constant.result], [TileType.get([], i32)])
    with pytest.raises(ir.MLIRError) as caught:
        module.operation.verify()
    (diagnostic,) = caught.value.error_diagnostics
    assert diagnostic.message == (
        "'cuda_tile.absi' op operand #0 must be tile of i1 or i8 or i16 or i32 or i64 values, but got 'i32'"
    )
    assert str(diagnostic.location) == 'loc("theirs.mlir":4:2)'


def test_register_is_idempotent(users: ir.Context) -> None:
    with users:
        module = Module.parse(TWICE)
    assert register(users) is users
    module.verify()


def test_dialects_loaded_by_the_user_remain_registered(users: ir.Context) -> None:
    class Theirs(ext.Dialect, name="theirs_of_the_contexts_test"):
        pass

    class StepOp(Theirs.Operation, name="step"):
        __annotations__ = {"value": ext.Operand[ir.IntegerType], "next": ext.Result[ir.IntegerType]}

    mixed = ir.Context()
    with mixed:
        Theirs.load()
    register(mixed)
    with mixed, ir.Location.unknown():
        module = ir.Module.parse(
            """
            %x = arith.constant 1 : i32
            %y = "theirs_of_the_contexts_test.step"(%x) : (i32) -> i32
            %z = "cuda_tile.make_token"() : () -> !cuda_tile.token
            """
        )
    _, step, token = module.body.operations
    assert isinstance(step, StepOp)
    assert isinstance(token.result.type, TokenType)


def test_unregistered_current_context_is_not_used() -> None:
    with ir.Context() as theirs:
        assert context() is not theirs
        assert Module.parse(TWICE).ir.context is context()


def test_register_refuses_objects_that_are_not_contexts() -> None:
    with pytest.raises(UsageError, match=r"expected a context of \w+\..*, but got builtins\.str"):
        register("context")  # type: ignore[arg-type]


def test_context_is_freed_after_forget() -> None:
    users = register(ir.Context())
    with users:
        module = Module.parse(TWICE)
        run(module.ir)
        text = module.to_text()
    reference = weakref.ref(users)
    del users, module
    forget()
    gc.collect()
    assert reference() is None
    assert Module.parse(text).to_text() == text


def test_all_stages_use_one_context(users: ir.Context) -> None:
    ours = compile(KERNEL, target="sm_90a", stop="ptx")
    forget()
    with users:
        theirs = compile(KERNEL, target="sm_90a", stop="ptx")
    assert [stage.content() for stage in theirs.stages] == [stage.content() for stage in ours.stages]
