"""Loops, branches and multiplies have ids, which copies keep: across roles, through clean-ups, and in text."""

from __future__ import annotations

import re

import pytest

import tilec
import tilec as ct
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import CONTROL_FLOW, ID, id_of
from tilec.dialect.walk import operations_inside, operations_of
from tilec.errors import VerificationError
from tilec.lowering.gpu.clean_up import clean_up
from tilec.text_input.stage_module import read_stage_module, stage_module_text

HEAD = 'tile_gpu.kernel @k(%p: i64, %n: i32, %c: i1) target "sm_100a" warps 4 {\n%one = arith.constant 1 : i32\n'
EMPTY_LOOP = "scf.for %i = %one to %n step %one : i32 {\n}\n"
ROW = 'tensor<1xi32, "register=none lane=(0)(0)(0)(0)(0) warp=(0)(0) shape=1">'
# Two branches with the same code, whose results are stored.
BRANCH = """
%{name} = scf.if %c -> (i32) id {id} {{
  %s = arith.muli %n, %n : i32
  %t = arith.divui %s, %n : i32
  scf.yield %t : i32
}} else {{
  scf.yield %one : i32
}}
"""
STORE = f"""
%sum = arith.addi %x, %y : i32
%row = tile_gpu.splat %sum : i32 -> {ROW}
tile_gpu.store_view %row -> %p[%n] extents [%n] strides [%one] vector 1 : {ROW}
"""
# The results of a loop and of a branch that nothing uses; upstream rebuilds both without them.
UNUSED_RESULTS = """
%w:2 = scf.while (%a = %n, %b = %n) : (i32, i32) -> (i32, i32) id 5 {
  %less = arith.cmpi slt, %a, %n : i32
  scf.condition(%less) %a, %b : i32, i32
} do (%x: i32, %y: i32) {
  %u, %r = scf.if %c -> (i32, i32) id 7 {
    tile_gpu.barrier
    %s = arith.addi %x, %one : i32
    scf.yield %x, %s : i32, i32
  } else {
    scf.yield %x, %x : i32, i32
  }
  scf.yield %r, %y : i32, i32
}
"""


def read(body: str) -> ir.Module:
    return read_stage_module(f"{HEAD}{body}}}\n", "k.gpu.mlir")


def ids(module: ir.Module) -> list[tuple[str, int | None]]:
    """The name and the id of each loop, branch and multiply."""
    operations = operations_inside(module.operation)
    return [(op.name, id_of(op)) for op in operations if op.name in CONTROL_FLOW or "id" in op.attributes]


def test_text_without_ids_gets_those_that_are_free() -> None:
    module = read(EMPTY_LOOP + EMPTY_LOOP.replace("i32 {", "i32 id 3 {") + EMPTY_LOOP)
    assert ids(module) == [("scf.for", 4), ("scf.for", 3), ("scf.for", 5)]


def test_branches_of_passes_need_no_id() -> None:
    module = read("scf.if %c {\n}\nscf.if %c id 0 {\n}\n" + EMPTY_LOOP)
    assert ids(module) == [("scf.if", None), ("scf.if", 0), ("scf.for", 1)]


def test_ids_are_printed_as_they_are_read() -> None:
    module = read(UNUSED_RESULTS)
    text = stage_module_text(module)
    assert "-> (i32, i32) id 5 {" in text and "-> (i32, i32) id 7 {" in text and ID not in text
    assert stage_module_text(read_stage_module(text, "k.gpu.mlir")) == text


@pytest.mark.parametrize("name", ["scf.for", "tile_gpu.tcgen05_mma"])
def test_kernel_with_an_operation_that_lost_its_id_is_rejected(name: str) -> None:
    tensor = "buffer<128x64xf32, tensor, lanes=128>"
    shared = "buffer<{}x64xf16, shared, contiguous=1 swizzle=128B>"
    multiply = (
        f"%a = tile_gpu.shared : {shared.format(128)}\n%b = tile_gpu.shared : {shared.format(64)}\n"
        f"%d = tile_gpu.undefined : {tensor}\ntile_gpu.tcgen05_mma f16 %a, %b into %d accumulate %c : "
        f"{shared.format(128)}, {shared.format(64)} -> {tensor}\n"
    )
    text = stage_module_text(read(EMPTY_LOOP + multiply), generic=True)
    attribute = r"\{tile_gpu.id = \d+ : i32\}" if name == "scf.for" else r"id = \d+ : i32, "
    with pytest.raises(
        VerificationError, match=f"expected an id of each loop and multiply, or of none, but '{name}' has none"
    ):
        read_stage_module(re.sub(attribute, "{}" if name == "scf.for" else "", text), "k.gpu.mlir")


def test_loops_and_branches_keep_their_ids_where_upstream_rebuilds_them() -> None:
    module = read(UNUSED_RESULTS)
    before = {op.name: op.location for op in operations_inside(module.operation)}
    with module.context:
        clean_up(module)
    assert ids(module) == [("scf.while", 5), ("scf.if", 7)]
    for op in operations_inside(module.operation):
        if op.name in ("scf.while", "scf.if"):
            assert len(op.results) == 1 and op.location == before[op.name]
            arguments = [argument for region in op.regions for argument in region.blocks[0].arguments]
            assert not any(ID in str(argument.location) for argument in arguments)


def test_equal_branches_stay_duplicates() -> None:
    """Upstream keeps one of two branches with the same code, whatever their ids."""
    module = read(BRANCH.format(name="x", id=3) + BRANCH.format(name="y", id=4) + STORE)
    with module.context:
        clean_up(module)
    assert len([name for name, _ in ids(module) if name == "scf.if"]) == 1


@ct.kernel
def nested_sums(A, B, C, tile: ct.Constant[int]):
    for column in range(ct.num_tiles(B, axis=1, shape=(tile, tile))):
        total = ct.zeros((tile, tile), ct.float32)
        for k in range(ct.num_tiles(A, axis=1, shape=(tile, tile))):
            total = ct.mma(ct.load(A, (ct.bid(0), k), (tile, tile)), ct.load(B, (k, column), (tile, tile)), total)
        if column > 2:
            ct.store(C, (ct.bid(0), column), total)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_loops_of_roles_have_the_ids_of_the_loops_that_they_are_copies_of(target: str) -> None:
    signature = "A: f16[?,?%8], B: f16[?,?%8], C: f32[?,?%8], tile=128"
    made = tilec.compile(nested_sums, signature=signature, target=target, stop="gpu")
    raw = ids(made.stage("gpu-raw").value)
    loops = [id for name, id in raw if name == "scf.for"]
    # In program order, each once; one multiply of Tile IR is one of tile_gpu here.
    assert [id for _, id in raw] == list(range(len(raw))) and len(loops) == 2
    (kernel,) = made.stage("gpu").value.body.operations
    for role in kernel.roles.bodies.values():
        assert {id_of(op) for op in operations_of(role.blocks[0]) if op.name == "scf.for"} <= set(loops)
    multiplies = {id_of(op) for op in operations_inside(kernel) if "id" in op.attributes}
    assert multiplies == {id for name, id in raw if not name.startswith("scf.")}
