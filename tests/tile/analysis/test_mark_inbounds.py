"""The pass mark-inbounds marks accesses that are proven to be inside of their tensor."""

from __future__ import annotations

import re

import numpy as np
import pytest
from inbounds_cases import Case, TooManyIterations, random_case

from tilec.driver.stages import compile
from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module

ARGUMENTS = "%p: tile<ptr<f32>>, %nn: tile<i32>, %j: tile<i32>"
HEADER = """%k0 = constant <i32: 0> : tile<i32> %k1 = constant <i32: 1> : tile<i32> %k8 = constant <i32: 8> : tile<i32>
  %k2 = constant <i32: 2> : tile<i32> %k3 = constant <i32: 3> : tile<i32> %k4 = constant <i32: 4> : tile<i32>"""


ASSUMPTION = "assume bounded<0, 1000>"


def kernel(extent: str, upper: str, assumption: str = ASSUMPTION, lower: str = "%k0", index: str = "%i") -> str:
    """A loop over tiles of 8 elements of a vector of `extent` elements, which may be `?`."""
    dynamic = extent == "?"
    tensor = f"tensor_view<{extent}xf32, strides=[1]>"
    view = f"partition_view<tile=(8), {tensor}>"
    shape, types = ("%n", " : tile<i32> -> ") if dynamic else (extent, " : ")
    return f"""cuda_tile.module @m {{ entry @k({ARGUMENTS}) {{ {HEADER}
      %n = {assumption}, %nn : tile<i32>
      %tv = make_tensor_view %p, shape = [{shape}], strides = [1]{types}{tensor}
      %pv = make_partition_view %tv : {view}
      %tiles = get_index_space_shape %pv : {view} -> tile<i32>
      %floor = divi %n, %k8 signed : tile<i32> %ceil = divi %n, %k8 signed rounding<positive_inf> : tile<i32>
      for %i in ({lower} to {upper}, step %k1) : tile<i32> {{
        %v, %t = load_view_tko weak %pv[{index}] : {view}, tile<i32> -> tile<8xf32>, token
        %w = addf %v, %v : tile<8xf32>
        %u = store_view_tko weak %w, %pv[{index}] token = %t : tile<8xf32>, {view}, tile<i32> -> token
      }} }} }}"""


def marked(text: str) -> Module:
    module = Module.parse(text)
    run(module.ir, ("mark-inbounds",), evaluate=evaluate)
    module.verify()
    return module


def is_marked(text: str) -> bool:
    printed = marked(text).to_text()
    assert printed.count("inbounds = [true]") in (0, 2)
    return "inbounds = [true]" in printed


DIVISIBLE = "assume div_by<8>"


@pytest.mark.parametrize(
    ("extent", "upper", "assumption", "expected"),
    [
        ("32", "%k4", "", True),
        ("31", "%k4", "", False),
        ("31", "%k3", "", True),
        ("32", "%tiles", "", True),
        ("31", "%tiles", "", False),
        ("32", "%j", "", False),
        ("?", "%tiles", DIVISIBLE, False),
        ("?", "%floor", "assume bounded<0, 1000>", True),
        ("?", "%ceil", "assume bounded<0, 1000>", False),
        ("?", "%tiles", "assume bounded<0, 1000>", False),
        ("?", "%k3", "assume bounded<24, 1000>", True),
        ("?", "%k4", "assume bounded<24, 1000>", False),
    ],
)
def test_marks_in_loops(extent: str, upper: str, assumption: str, expected: bool) -> None:
    """No access is marked if the extent may be negative, because a view reads extents as unsigned."""
    assert is_marked(kernel(extent, upper, assumption or "assume bounded<0, 1000>")) == expected


@pytest.mark.parametrize("upper", ["%tiles", "%ceil"])
def test_loop_over_a_whole_number_of_tiles_is_marked(upper: str) -> None:
    text = kernel("?", upper).replace("%n = assume", "%n0 = assume div_by<8>, %nn : tile<i32> %n = assume")
    assert is_marked(text.replace("bounded<0, 1000>, %nn", "bounded<0, 1000>, %n0"))


@pytest.mark.parametrize(("lower", "index"), [("%j", "%i"), ("%k0", "%j")])
def test_index_that_may_be_negative_is_not_marked(lower: str, index: str) -> None:
    assert not is_marked(kernel("32", "%k4", lower=lower, index=index))


def test_existing_flags_are_kept() -> None:
    text = kernel("32", "%j").replace("-> tile<8xf32>, token", "-> tile<8xf32>, token", 1)
    text_with_flag = text.replace("load_view_tko weak %pv[%i] :", "load_view_tko weak %pv[%i] inbounds = [true] :")
    assert marked(text_with_flag).to_text().count("inbounds = [true]") == 1


def test_strided_and_permuted_views() -> None:
    """Tiles of 4 elements with a step of 2 overlap, so the last tile of the index space is partly outside."""
    tensor = "tensor_view<16x8xf32, strides=[8,1]>"
    strided = f"strided_view<tile=(4x4), traversal_strides=[2,4], {tensor}>"
    permuted = f"partition_view<tile=(4x8), {tensor}, dim_map=[1, 0]>"
    for view, maker, upper, expected in (
        (strided, "strided", 6, "[true, true]"),
        (strided, "strided", 8, "[false, true]"),
        (permuted, "partition", 2, "[true, true]"),
        (permuted, "partition", 3, "[false, true]"),
    ):
        text = f"""cuda_tile.module @m {{ entry @k({ARGUMENTS}) {{ {HEADER} %k = constant <i32: {upper}> : tile<i32>
          %tv = make_tensor_view %p, shape = [16, 8], strides = [8, 1] : {tensor}
          %pv = make_{maker}_view %tv : {view}
          for %i in (%k0 to %k, step %k1) : tile<i32> {{
            %v, %t = load_view_tko weak %pv[%i, %k1] : {view}, tile<i32> -> SHAPE, token
          }} }} }}""".replace("SHAPE", "tile<4x4xf32>" if maker == "strided" else "tile<4x8xf32>")
        assert f"inbounds = {expected}" in marked(text).to_text()


@pytest.mark.parametrize("extent", [0, 1, 8, 9, 24, 31, 32])
@pytest.mark.parametrize("upper", ["%floor", "%ceil", "%tiles"])
def test_marks_hold_in_the_interpreter(extent: int, upper: str) -> None:
    """The interpreter verifies `inbounds`."""
    bounds = "bounded<0, 1000>"
    text = kernel("?", upper)
    if extent % 8 == 0:
        text = text.replace("%n = assume", "%n0 = assume div_by<8>, %nn : tile<i32> %n = assume")
        text = text.replace(f"{bounds}, %nn", f"{bounds}, %n0")
    results = []
    for module in (marked(text), Module.parse(text)):
        results.append(np.arange(40, dtype=np.float32))
        interpret(module.ir, "k", 1, [results[-1].ctypes.data, extent, 0], check=True)
    np.testing.assert_array_equal(*results)


# The numbers of random loops and of argument sets per loop.
CASES, CHOICES = 400, 25


def flags(case: Case) -> list[bool]:
    found = re.search(r"inbounds = \[(.*?)\]", marked(case.text()).to_text())
    return [False] * len(case.tile) if found is None else [word == "true" for word in found[1].split(", ")]


def observed(case: Case) -> list[list[bool]]:
    """Whether each access is inside the tensor, in runs with numbers that satisfy the assumptions."""
    found: list[list[bool]] = []
    for environment in case.environments(CHOICES):
        try:
            found += case.accesses(environment)
        except TooManyIterations:
            continue
    return found


def test_every_mark_holds_for_every_index() -> None:
    """Random views and loops, with all indices computed as Python integers."""
    checked = 0
    for seed in range(CASES):
        case = random_case(seed)
        observations, marks = observed(case), flags(case)
        for inside in observations:
            assert all(is_inside or not mark for is_inside, mark in zip(inside, marks, strict=True)), case.text()
        checked += bool(observations) and sum(marks)
    # Marks must occur often enough for the test to be meaningful.
    assert checked > CASES // 10


@pytest.mark.parametrize(
    ("upper", "dim_map", "expected"),
    [
        ("%tiles#0", [0, 1], "[true, false]"),
        ("%tiles#1", [0, 1], "[false, true]"),
        ("%tiles#0", [1, 0], "[true, false]"),
        ("%rows", [0, 1], "[true, false]"),
        ("%rows", [1, 0], "[false, true]"),
        ("%others", [0, 1], "[false, false]"),
    ],
)
def test_number_of_tiles_is_that_of_the_indexed_dimension(upper: str, dim_map: list[int], expected: str) -> None:
    """Both dimensions have the same index, which is in bounds only where the number of tiles limits the loop."""
    tensor = "tensor_view<?x?xf32, strides=[64,1]>"
    view = f"partition_view<tile=(8x8), {tensor}, dim_map={dim_map}>"
    text = f"""cuda_tile.module @m {{ entry @k({ARGUMENTS}, %mm: tile<i32>) {{ {HEADER}
      %n0 = assume div_by<8>, %nn : tile<i32> %n = assume bounded<0, 1000>, %n0 : tile<i32>
      %m0 = assume div_by<8>, %mm : tile<i32> %m = assume bounded<0, 1000>, %m0 : tile<i32>
      %tv = make_tensor_view %p, shape = [%n, %m], strides = [64, 1] : tile<i32> -> {tensor}
      %pv = make_partition_view %tv : {view}
      %tiles:2 = get_index_space_shape %pv : {view} -> tile<i32>
      %rows = divi %nn, %k8 signed : tile<i32> %others = divi %j, %k8 signed : tile<i32>
      for %i in (%k0 to {upper}, step %k1) : tile<i32> {{
        %v, %t = load_view_tko weak %pv[%i, %i] : {view}, tile<i32> -> tile<8x8xf32>, token
      }} }} }}"""
    printed = marked(text).to_text()
    assert f"inbounds = {expected}" in printed or expected == "[false, false]" and "inbounds" not in printed


def test_marks_need_both_assumptions() -> None:
    """The extent must not be negative, and must be a multiple of the tile."""
    unbounded = kernel("?", "%tiles").replace("%n = assume", "%n0 = assume div_by<8>, %nn : tile<i32> %n = assume")
    text = unbounded.replace("bounded<0, 1000>, %nn", "bounded<0, 1000>, %n0")
    assert is_marked(text)
    assert not is_marked(text.replace("assume bounded<0, 1000>, %n0", "assume bounded<?, 1000>, %n0"))
    assert not is_marked(text.replace("assume div_by<8>, %nn", "assume div_by<4>, %nn"))
    floor = kernel("?", "%floor")
    assert is_marked(floor)
    assert not is_marked(floor.replace("bounded<0, 1000>", "bounded<?, 1000>"))


def test_accesses_without_the_assumption_have_guards_in_ptx() -> None:
    """Accesses without `inbounds` have a guard in PTX."""
    for assumption, guarded in (("assume bounded<0, 1000>", False), ("assume div_by<1>", True)):
        text = kernel("?", "%floor", assumption=assumption)
        ptx = str(compile(Module.parse(text), target="sm_90a", stop="ptx").stage("ptx").value)
        lines = [line for line in ptx.splitlines() if "ld.global" in line]
        assert lines and all(bool(re.match(r"\s*@", line)) == guarded for line in lines)


def test_marked_accesses_have_no_guard_in_ptx() -> None:
    for extent, guarded in (("32", False), ("31", True)):
        ptx = str(compile(Module.parse(kernel(extent, "%k4")), target="sm_90a", stop="ptx").stage("ptx").value)
        lines = [line for line in ptx.splitlines() if "ld.global" in line]
        assert lines and all(bool(re.match(r"\s*@", line)) == guarded for line in lines)
