"""Assumptions determine the vector width of accesses through tiles of pointers; the simulated copy is correct."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilec
from tilec.driver.stages import compile
from tilec.text_input.module import Module

BLOCK, BLOCKS = 2048, 3
DTYPES = {"f32": np.float32, "f16": np.float16, "i8": np.int8, "f64": np.float64, "i32": np.int32}


def kernel(element: str, alignment: int, mask: str = "", order: str = "weak", step: int = 1) -> str:
    """A copy of blocks, with some vectors for each thread; `mask` is an assumption about the number of elements."""
    pointers, lanes = f"tile<{BLOCK}xptr<{element}>>", f"tile<{BLOCK}xi32>"
    masked = f", tile<{BLOCK}xi1>" if mask else ""
    return f"""cuda_tile.module @m {{ entry @k(%pp: tile<ptr<{element}>>, %oo: tile<ptr<{element}>>, %nn: tile<i32>) {{
      %p = assume div_by<{alignment}>, %pp : tile<ptr<{element}>>
      %o = assume div_by<{alignment}>, %oo : tile<ptr<{element}>>
      %n = {mask or "assume bounded<0, ?>"}, %nn : tile<i32>
      %x, %y, %z = get_tile_block_id : tile<i32> %size = constant <i32: {BLOCK}> : tile<i32>
      %start = muli %x, %size : tile<i32> %s1 = reshape %start : tile<i32> -> tile<1xi32>
      %sw = broadcast %s1 : tile<1xi32> -> {lanes} %l = iota : {lanes} %i = addi %sw, %l : {lanes}
      %k = constant <i32: {step}> : {lanes} %at = muli %i, %k : {lanes}
      %n1 = reshape %n : tile<i32> -> tile<1xi32> %nw = broadcast %n1 : tile<1xi32> -> {lanes}
      %m = cmpi less_than %i, %nw, signed : {lanes} -> tile<{BLOCK}xi1>
      %p1 = reshape %p : tile<ptr<{element}>> -> tile<1xptr<{element}>>
      %pw = broadcast %p1 : tile<1xptr<{element}>> -> {pointers}
      %q = offset %pw, %at : {pointers}, {lanes} -> {pointers}
      %o1 = reshape %o : tile<ptr<{element}>> -> tile<1xptr<{element}>>
      %ow = broadcast %o1 : tile<1xptr<{element}>> -> {pointers}
      %r = offset %ow, %at : {pointers}, {lanes} -> {pointers}
      %v, %t = load_ptr_tko {order} %q{", %m" if mask else ""} : {pointers}{masked} -> tile<{BLOCK}x{element}>, token
      %u = store_ptr_tko {order} %r, %v{", %m" if mask else ""} : {pointers}, tile<{BLOCK}x{element}>{masked} -> token
    }} }}"""


def accesses(text: str, target: str = "sm_90a") -> set[str]:
    """The mnemonics of the loads and stores of the PTX."""
    ptx = str(compile(Module.parse(text), target=target, stop="ptx").stage("ptx").value)
    return set(re.findall(r"(?:@%p\d+ )?((?:ld|st)\.(?:\w+\.)*global\S*)", ptx))


def check_copy(text: str, element: str, count: int) -> None:
    size = BLOCK * BLOCKS
    # The array is aligned to 16 bytes, like the assumption.
    source, result = (np.zeros(size + 16, DTYPES[element]) for _ in range(2))
    source, result = (a[(-a.ctypes.data % 16) // a.itemsize :][:size] for a in (source, result))
    source[:] = np.arange(size) % 100 + 1
    compiled = compile(Module.parse(text), target="sm_90a", stop="ptx")
    tilec.run(compiled, (BLOCKS, 1, 1), [source, result, count], backend="simulate")
    np.testing.assert_array_equal(result[:count], source[:count])
    assert not result[count:].any()


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize(
    ("element", "alignment", "width"),
    [("f32", 16, "v4.f32"), ("f32", 8, "v2.f32"), ("f32", 4, "f32"), ("f16", 16, "v4.b32"), ("f16", 4, "b32"),
     ("f16", 2, "b16"), ("i8", 16, "v4.b32"), ("f64", 16, "v2.f64")],
)  # fmt: skip
def test_alignment_determines_the_width(element: str, alignment: int, width: str, target: str) -> None:
    assert accesses(kernel(element, alignment), target) == {f"ld.global.{width}", f"st.global.{width}"}


@pytest.mark.parametrize("element", DTYPES)
def test_simulated_copy_is_correct(element: str) -> None:
    check_copy(kernel(element, 16), element, BLOCK * BLOCKS)


@pytest.mark.parametrize(("divisor", "width"), [(16, "v4.f32"), (4, "v4.f32"), (2, "v2.f32"), (1, "f32")])
def test_vector_access_needs_equal_masks(divisor: int, width: str) -> None:
    """If the limit is a multiple of four, the mask is equal for each group of four adjacent elements."""
    text = kernel("f32", 16, mask=f"assume div_by<{divisor}>")
    assert accesses(text) == {f"ld.global.{width}", f"st.global.{width}"}
    for count in (0, 16, BLOCK + 16, BLOCK * BLOCKS):
        check_copy(text, "f32", count)


def test_strong_accesses_are_not_vectors() -> None:
    loads = accesses(kernel("f32", 16, order="relaxed device"))
    assert loads == {"ld.relaxed.gpu.global.f32", "st.relaxed.gpu.global.f32"}


def test_strided_elements_are_not_vectors() -> None:
    assert accesses(kernel("f32", 16, step=2)) == {"ld.global.f32", "st.global.f32"}


def test_assumed_groups_of_pointers_are_vectors() -> None:
    """A gather whose indices are consecutive in groups of four, by assumption."""
    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %j: tile<ptr<i32>>, %o: tile<ptr<f32>>) {
      %l = iota : tile<512xi32> %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
      %pw = broadcast %p1 : tile<1xptr<f32>> -> tile<512xptr<f32>>
      %j1 = reshape %j : tile<ptr<i32>> -> tile<1xptr<i32>>
      %jw = broadcast %j1 : tile<1xptr<i32>> -> tile<512xptr<i32>>
      %jq = offset %jw, %l : tile<512xptr<i32>>, tile<512xi32> -> tile<512xptr<i32>>
      %i, %t = load_ptr_tko weak %jq : tile<512xptr<i32>> -> tile<512xi32>, token
      %q = offset %pw, %i : tile<512xptr<f32>>, tile<512xi32> -> tile<512xptr<f32>>
      ASSUMPTION
      %v, %u = load_ptr_tko weak %r : tile<512xptr<f32>> -> tile<512xf32>, token
      %o1 = reshape %o : tile<ptr<f32>> -> tile<1xptr<f32>>
      %ow = broadcast %o1 : tile<1xptr<f32>> -> tile<512xptr<f32>>
      %oq = offset %ow, %l : tile<512xptr<f32>>, tile<512xi32> -> tile<512xptr<f32>>
      %w = store_ptr_tko weak %oq, %v : tile<512xptr<f32>>, tile<512xf32> -> token
    } }"""
    assumption = "%r = assume div_by<16, every 4 along 0>, %q : tile<512xptr<f32>>"
    assumed = text.replace("ASSUMPTION", assumption)
    assert "ld.global.v4.f32" in accesses(assumed)
    assert "ld.global.v4.f32" not in accesses(text.replace("ASSUMPTION", "").replace("weak %r", "weak %q"))
    source, result = np.arange(2048, dtype=np.float32), np.zeros(512, np.float32)
    order = np.random.default_rng(0).permutation(512)[:128]
    index = (4 * order[:, None] + np.arange(4)).reshape(-1).astype(np.int32)
    aligned = np.zeros(2056, np.float32)
    aligned = aligned[(-aligned.ctypes.data % 16) // 4 :][:2048]
    aligned[:] = source
    compiled = compile(Module.parse(assumed), target="sm_90a", stop="ptx")
    tilec.run(compiled, (1, 1, 1), [aligned, index, result], backend="simulate")
    np.testing.assert_array_equal(result, source[index])


def test_rows_of_a_matrix_are_vectors() -> None:
    text = """cuda_tile.module @m { entry @k(%pp: tile<ptr<f32>>, %s: tile<i32>, %oo: tile<ptr<f32>>) {
      %p = assume div_by<16>, %pp : tile<ptr<f32>> %o = assume div_by<16>, %oo : tile<ptr<f32>>
      %row = assume div_by<DIV>, %s : tile<i32>
      %r = iota : tile<16xi32> %r1 = reshape %r : tile<16xi32> -> tile<16x1xi32>
      %w1 = reshape %row : tile<i32> -> tile<1x1xi32> %ww = broadcast %w1 : tile<1x1xi32> -> tile<16x1xi32>
      %rr = muli %r1, %ww : tile<16x1xi32> %ra = broadcast %rr : tile<16x1xi32> -> tile<16x32xi32>
      %c = iota : tile<32xi32> %c1 = reshape %c : tile<32xi32> -> tile<1x32xi32>
      %ca = broadcast %c1 : tile<1x32xi32> -> tile<16x32xi32> %at = addi %ra, %ca : tile<16x32xi32>
      %p1 = reshape %p : tile<ptr<f32>> -> tile<1x1xptr<f32>>
      %pw = broadcast %p1 : tile<1x1xptr<f32>> -> tile<16x32xptr<f32>>
      %q = offset %pw, %at : tile<16x32xptr<f32>>, tile<16x32xi32> -> tile<16x32xptr<f32>>
      %o1 = reshape %o : tile<ptr<f32>> -> tile<1x1xptr<f32>>
      %ow = broadcast %o1 : tile<1x1xptr<f32>> -> tile<16x32xptr<f32>>
      %oq = offset %ow, %at : tile<16x32xptr<f32>>, tile<16x32xi32> -> tile<16x32xptr<f32>>
      %v, %t = load_ptr_tko weak %q : tile<16x32xptr<f32>> -> tile<16x32xf32>, token
      %u = store_ptr_tko weak %oq, %v : tile<16x32xptr<f32>>, tile<16x32xf32> -> token
    } }"""
    assert accesses(text.replace("DIV", "4")) == {"ld.global.v4.f32", "st.global.v4.f32"}
    assert accesses(text.replace("DIV", "2")) == {"ld.global.v2.f32", "st.global.v2.f32"}
    assert accesses(text.replace("DIV", "1")) == {"ld.global.f32", "st.global.f32"}
