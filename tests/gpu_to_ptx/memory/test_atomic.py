"""Atomic updates: the instruction of each mode and type, order and scope, and one update per element."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from simulated import kernel, ptx_of, run, tile

from tilec.dialect.tile_gpu.operations.atomic import MODES
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout

DTYPES = {
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
# PTX ISA 9.7.13.6: the types of each operation.
INSTRUCTIONS = {
    **{(mode, "i32"): f"{mode}.b32" for mode in ("and", "or", "xor")},
    **{(mode, "i64"): f"{mode}.b64" for mode in ("and", "or", "xor")},
    ("add", "i32"): "add.u32",
    ("add", "i64"): "add.u64",
    ("max", "i32"): "max.s32",
    ("max", "i64"): "max.s64",
    ("min", "i32"): "min.s32",
    ("min", "i64"): "min.s64",
    ("umax", "i32"): "max.u32",
    ("umax", "i64"): "max.u64",
    ("umin", "i32"): "min.u32",
    ("umin", "i64"): "min.u64",
    ("inc", "i32"): "inc.u32",
    ("dec", "i32"): "dec.u32",
    ("addf", "f16"): "add.noftz.f16",
    ("addf", "bf16"): "add.noftz.bf16",
    ("addf", "f32"): "add.f32",
    ("addf", "f64"): "add.f64",
    ("xchg", "i32"): "exch.b32",
    ("xchg", "i64"): "exch.b64",
    ("xchg", "f32"): "exch.b32",
    ("xchg", "f64"): "exch.b64",
}
ONE_EACH = blocked((128,), 4)
# Each of 16 elements is held by eight threads, in registers 0 and 1.
REPLICATED = LinearLayout(((0,),), ((1,), (0,), (2,), (4,), (0,)), ((8,), (0,)), (16,))


def update_kernel(
    mode: str,
    element: str,
    layout: LinearLayout = ONE_EACH,
    *,
    used: bool = False,
    order: str = "relaxed",
    scope: str = "device",
    vector: int = 1,
    masked: bool = False,
) -> str:
    """Updates element i of %a with element i of %b (even elements if masked), and stores the old ones to %c if used."""
    type, addresses, size = tile(element, layout), tile("i64", layout), np.dtype(DTYPES[element]).itemsize
    mask, masks, count = (", %even", f", {tile('i1', layout)}", 1) if masked else ("", "", 0)
    store = '"tile_gpu.store_global"(%pc, %old) {vector = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>}'
    segments = f"operandSegmentSizes = array<i32: 1, 1, {count}>"
    attributes = f'mode = "{mode}", vector = {vector} : i32, order = "{order}", scope = "{scope}", {segments}'
    return kernel(
        "%a: i64, %b: i64, %c: i64",
        f"""
        %i = "tile_gpu.iota"() : () -> {tile("i32", layout)}
        %j = arith.extsi %i : {tile("i32", layout)} to {addresses}
        %size = arith.constant dense<{size}> : {addresses}
        %one = arith.constant dense<1> : {addresses}
        %zero = arith.constant dense<0> : {addresses}
        %at = arith.muli %j, %size : {addresses}
        %low = arith.andi %j, %one : {addresses}
        %even = arith.cmpi eq, %low, %zero : {addresses}
        %a0 = "tile_gpu.splat"(%a) : (i64) -> {addresses}
        %b0 = "tile_gpu.splat"(%b) : (i64) -> {addresses}
        %c0 = "tile_gpu.splat"(%c) : (i64) -> {addresses}
        %pa = arith.addi %a0, %at : {addresses}
        %pb = arith.addi %b0, %at : {addresses}
        %pc = arith.addi %c0, %at : {addresses}
        %v = "tile_gpu.load_global"(%pb) {{vector = 1 : i32, operandSegmentSizes = array<i32: 1, 0, 0>}}
          : ({addresses}) -> {type}
        %old = "tile_gpu.atomic_global"(%pa, %v{mask}) {{{attributes}}} : ({addresses}, {type}{masks}) -> {type}
        {f"{store} : ({addresses}, {type}) -> ()" if used else ""}""",
    )


def instructions(text: str) -> list[str]:
    """Atomics and fences without operands and guards, in order."""
    return re.findall(r"\b((?:atom|red|fence)\.[\w.:]+)", ptx_of(text))


def test_every_legal_pair_has_an_instruction():
    assert set(INSTRUCTIONS) == {(mode, element) for mode, elements in MODES.items() for element in elements}


@pytest.mark.parametrize(("mode", "element"), INSTRUCTIONS)
def test_instruction_of_mode_and_type(mode, element):
    """PTX ISA 9.7.13.7: red has no exchange."""
    name = INSTRUCTIONS[mode, element]
    unused = "atom" if mode == "xchg" else "red"
    assert instructions(update_kernel(mode, element)) == [f"{unused}.relaxed.gpu.global.{name}"]
    assert instructions(update_kernel(mode, element, used=True)) == [f"atom.relaxed.gpu.global.{name}"]


@pytest.mark.parametrize(("scope", "ptx"), [("tl_blk", "cta"), ("device", "gpu"), ("sys", "sys")])
@pytest.mark.parametrize("order", ["relaxed", "acquire", "release", "acq_rel"])
def test_one_element_per_thread_has_order_and_scope(order, scope, ptx):
    """An acquire reads memory even if nothing reads the result."""
    name = "atom" if order in ("acquire", "acq_rel") else "red"
    text = update_kernel("add", "i32", order=order, scope=scope)
    assert instructions(text) == [f"{name}.{order}.{ptx}.global.add.u32"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("relaxed", ["red"] * 2),
        ("acquire", ["atom"] * 2 + ["fence"]),
        ("release", ["fence"] + ["red"] * 2),
        ("acq_rel", ["fence"] + ["atom"] * 2 + ["fence"]),
    ],
)
def test_several_elements_per_thread_are_relaxed_between_fences(order, expected):
    found = instructions(update_kernel("add", "i32", blocked((256,), 4), order=order))
    spelled = {"fence": "fence.acq_rel.gpu"}
    assert found == [spelled.get(name, f"{name}.relaxed.gpu.global.add.u32") for name in expected]


@pytest.mark.parametrize(
    ("element", "count", "vector"),
    [
        ("f32", 2, "add.v2.f32"),
        ("f32", 4, "add.v4.f32"),
        ("f16", 2, "add.noftz.f16x2"),
        ("f16", 4, "add.noftz.v2.f16x2"),
        ("bf16", 8, "add.noftz.v4.bf16x2"),
    ],
)
@pytest.mark.parametrize("used", [False, True])
def test_vector_of_successive_elements(element, count, vector, used):
    layout = blocked((128 * count,), 4, vector=count)
    text = update_kernel("addf", element, layout, vector=count, used=used)
    assert instructions(text) == [f"{'atom' if used else 'red'}.relaxed.gpu.global.{vector}"]
    a, b = (np.arange(128 * count).astype(DTYPES[element]) % np.array(k, DTYPES[element]) for k in (97, 31))
    found, old = a.copy(), np.zeros_like(a)
    run(text, [found, b, old])
    assert np.array_equal(found, a + b)
    assert np.array_equal(old, a if used else np.zeros_like(a))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("layout", [ONE_EACH, REPLICATED, blocked((16,), 4), blocked((1024,), 4, vector=4)], ids=str)
@pytest.mark.parametrize("element", ["i32", "f16", "f64"])
def test_each_element_is_updated_once_and_all_holders_get_the_old_one(layout, element, used, masked):
    a, b = (np.arange(layout.size).astype(DTYPES[element]) for _ in range(2))
    found, old = a.copy(), np.full_like(a, 99)
    mode = "addf" if element.startswith("f") else "add"
    run(update_kernel(mode, element, layout, used=used, masked=masked), [found, b, old])
    chosen = np.arange(layout.size) % (2 if masked else 1) == 0
    assert np.array_equal(found, np.where(chosen, a + b, a))
    assert np.array_equal(old, np.where(chosen, a, 0) if used else np.full_like(a, 99))
