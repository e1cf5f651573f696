"""Modules of every stage below Tile IR round trip through their assembly."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilec
from tilec.dialect.mlir import context, ir
from tilec.dialect.stage_assembly.printer import print_stage
from tilec.dialect.stage_assembly.reader import read_stage
from tilec.text_input.stage_module import read_stage_module, stage_module_text

EXAMPLES = Path(__file__).parents[2] / "examples"
STAGES = ("gpu-raw", "gpu", "ptx-mlir")
MATMUL = "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=128, tn=128, tk=64, use_tf32=False, half_accumulator=False"
# Kernels and signatures, which cover roles and channels, reductions, views, and device functions.
KERNELS = {
    "matmul": (f"{EXAMPLES}/matmul.py:matmul_kernel", MATMUL),
    "softmax": (f"{EXAMPLES}/softmax.py", "x: f32[?,?], y: f32[?,?], TILE=1024"),
    "vector_add": (f"{EXAMPLES}/vector_add.py", "a: f32[?], b: f32[?], c: f32[?], tile_size=1024"),
}


def generic(module: ir.Module) -> str:
    """The generic form of a module with the locations of all operations and arguments."""
    return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_stage_of_a_kernel_round_trips(name: str, target: str) -> None:
    source, signature = KERNELS[name]
    compiled = tilec.compile(source, signature=signature, target=target, stop="ptx-mlir")
    for stage in STAGES:
        module = compiled.stage(stage).value
        text = print_stage(module)
        assert max(map(len, text.splitlines())) <= 160
        assert print_stage(read_stage(text)) == text
        assert generic(read_stage(print_stage(module, locations=True))) == generic(module)
        # Without locations, everything else is equal.
        without_locations = [each.operation.get_asm(print_generic_op_form=True) for each in (read_stage(text), module)]
        assert without_locations[0] == without_locations[1]


@pytest.mark.parametrize("stage", STAGES)
def test_generic_form_is_read(stage: str) -> None:
    module = tilec.compile(KERNELS["matmul"][0], signature=MATMUL, stop="ptx-mlir").stage(stage).value
    text = stage_module_text(module, generic=True)
    read = read_stage_module(text, "k.mlir")
    assert stage_module_text(read, generic=True) == text
    first = read.body.operations[0].operation
    assert "k.mlir" in str(first.location)


UPSTREAM = """
#layout = "register=(1) lane=(2)(4)(8)(16)(32) warp=(64)(128) shape=256"
!tile = tensor<256xf32, #layout>
module {
  tile_gpu.kernel @k(%a: i32, %b: f32, %c: i1) target "sm_100a" warps 4 {
    %0 = arith.addi %a, %a {overflowFlags = #arith.overflow<nsw>} : i32
    %1 = arith.addf %b, %b {fastmath = #arith.fastmath<fast>} : f32
    %2 = arith.cmpf olt, %1, %b : f32
    %3 = arith.select %2, %0, %a : i1, i32, i32 -> i32
    %4 = arith.trunci %3 : i32 to i16
    %5 = arith.constant dense<1.5> : !tile
    %6 = arith.constant -1.0e-3 : f32
    %7 = arith.constant 0x7FC00000 : f32
    %8 = math.exp2 %5 : !tile
    %9 = ub.poison : i32
    %10:2 = scf.while (%x = %a, %y = %b) : (i32, f32) -> (i32, f32) {
      %11 = arith.cmpi slt, %x, %3 : i32
      scf.condition(%11) %x, %y : i32, f32
    } do (%x: i32, %y: f32) {
      %12 = arith.addi %x, %a : i32
      scf.yield %12, %y : i32, f32
    }
    scf.if %c {
      %13 = arith.addi %a, %a : i32
    }
    %14 = scf.if %c -> (i32) {
      scf.yield %a : i32
    } else {
      scf.yield %0 : i32
    }
    %15 = scf.for %i = %a to %14 step %0 iter_args(%s = %b) -> (f32) : i32 {
      %16 = math.fma %s, %s, %b : f32
      scf.yield %16 : f32
    } {tilec.note = "kept"}
  }
}
"""


def test_upstream_operations_round_trip() -> None:
    module = read_stage(UPSTREAM)
    assert module.operation.verify()
    assert generic(read_stage(print_stage(module, locations=True))) == generic(module)
    assert "tilec.note" in print_stage(module) and "#arith.overflow<nsw>" in print_stage(module)


BLOCKS = """
ptx.entry @k(n: u32) target "sm_100a" threads [32, 1, 1] attributes {shared = []} {
  %n = ptx.compute "ld.param.u32 $0, [n];" : i32
  cf.br ^bb2(%n)
^bb1:
  ptx.execute "st.shared.b32 [0], $0;"(%twice)
  ptx.return
^bb2(%i: i32):
  %twice = ptx.compute "add.s32 $0, $1, $1;"(%i) : i32
  %end = ptx.compute "setp.eq.s32 $0, $1, 0;"(%twice) : i1
  cf.cond_br %end, ^bb1, ^bb2(%twice) {ptx.uniform}
}
"""


def test_value_may_be_used_before_its_definition_in_the_text() -> None:
    module = read_stage(BLOCKS)
    assert module.operation.verify()
    assert generic(read_stage(print_stage(module, locations=True))) == generic(module)


def test_operations_without_assembly_are_printed_by_mlir() -> None:
    with context():
        module = ir.Module.parse("func.func @f() { return }")
    assert "func.func" in print_stage(module)


def test_long_strings_are_split_into_several_literals() -> None:
    text = "one word and another " * 20 + '"quoted"\n and \\ a line'
    with context():
        module = ir.Module.parse("module {}")
        module.operation.attributes["tilec.note"] = ir.StringAttr.get(text)
    printed = print_stage(module)
    assert max(map(len, printed.splitlines())) <= 140
    assert read_stage(printed).operation.attributes["tilec.note"].value == text
