"""The pass split-loops preserves results for every bound, also at the limits of the integer types."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest

from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module

EDGES = {
    "i8": [-128, -127, -100, -9, -8, -2, -1, 0, 1, 2, 7, 8, 9, 100, 120, 126, 127],
    "i16": [-32768, -32767, -9, -1, 0, 1, 8, 9, 32760, 32766, 32767],
}
CASES = 120


def load(name: str, element: str) -> str:
    """Loads the element of this tile block from an array."""
    pointer = f"tile<ptr<{element}>>"
    return f"""%{name}p = offset %{name}a, %pid : {pointer}, tile<i32> -> {pointer}
      %{name}, %{name}t = load_ptr_tko weak %{name}p : {pointer} -> tile<{element}>, token """


def kernel(body: str, compare: str, kind: str, element: str, shape: str = "4x") -> str:
    """A loop whose carried values depend on i, the lanes and the mask of every iteration."""
    scalar, tile = f"tile<{element}>", f"tile<{shape}{element}>"
    names = ("lb", "ub", "st", "n", "m")
    ones = "1x" * shape.count("x")
    return f"""cuda_tile.module @m {{
    entry @k({", ".join(f"%{name}a: tile<ptr<{element}>>" for name in names)}, %out: tile<ptr<{element}>>) {{
      %pid, %y, %z = get_tile_block_id : tile<i32>
      {"".join(load(name, element) for name in names)}
      %lane = iota : tile<4x{element}> %three = constant <{element}: 3> : {tile}
      %seven = constant <{element}: 7> : {tile} %zero = constant <{element}: 0> : {tile}
      %n1 = reshape %n : {scalar} -> tile<{ones}{element}> %nw = broadcast %n1 : tile<{ones}{element}> -> {tile}
      %r = for {kind} %i in (%lb to %ub, step %st) : {scalar} iter_values(%acc = %zero) -> ({tile}) {{
        %i1 = reshape %i : {scalar} -> tile<{ones}{element}> %iw = broadcast %i1 : tile<{ones}{element}> -> {tile}
        {body}
        %mask = cmpi {compare} : {tile} -> tile<{shape}i1>
        %selected = select %mask, %x, %seven : tile<{shape}i1>, {tile}
        %scaled = muli %acc, %three : {tile} %next = addi %scaled, %selected : {tile}
        continue %next : {tile}
      }}
      %base = reshape %out : tile<ptr<{element}>> -> tile<1xptr<{element}>>
      %four = constant <i32: 4> : tile<i32> %at = muli %pid, %four : tile<i32>
      %at1 = reshape %at : tile<i32> -> tile<1xi32> %atw = broadcast %at1 : tile<1xi32> -> tile<4xi32>
      %lane32 = iota : tile<4xi32> %offsets = addi %atw, %lane32 : tile<4xi32>
      %bases = broadcast %base : tile<1xptr<{element}>> -> tile<4xptr<{element}>>
      %q = offset %bases, %offsets : tile<4xptr<{element}>>, tile<4xi32> -> tile<4xptr<{element}>>
      %t = store_ptr_tko weak %q, %r : tile<4xptr<{element}>>, {tile} -> token
    }} }}"""


def split(text: str) -> Module:
    module = Module.parse(text)
    run(module.ir, ("hoist-invariants", "split-loops"), evaluate=evaluate)
    module.verify()
    return module


def stored(module: Module, cases: list[tuple[int, ...]], element: str) -> np.ndarray:
    columns = [np.array(column, f"i{int(element[1:]) // 8}") for column in zip(*cases, strict=True)]
    out = np.zeros(4 * len(cases), columns[0].dtype)
    interpret(module.ir, "k", len(cases), [*(column.ctypes.data for column in columns), out.ctypes.data])
    return out


def cases(element: str, unsigned: bool, seed: str) -> list[tuple[int, ...]]:
    """Lower bound, upper bound, step, n and m from the edge cases, for loops of fewer than 70 iterations."""
    edges, width = EDGES[element], int(element[1:])
    steps = [1, 2, 3, 7, (1 << width - 1) - 1]
    found = []
    generator = random.Random(seed)
    while len(found) < CASES:
        case = (*(generator.choice(edges) for _ in range(2)), generator.choice(steps), generator.choice(edges),
                generator.choice(edges))  # fmt: skip
        lower, upper = (value % (1 << width) if unsigned else value for value in case[:2])
        if (upper - lower) // case[2] < 70:
            found.append(case)
    return found


# Definitions of %x, which is compared; %m is a scalar defined outside of the loop.
BODIES = {
    "i": "%x = addi %iw, %zero : T",
    "i + lane": "%x = addi %iw, %lane : T",
    "lane - 3 + i": "%y1 = subi %lane, %three : T %x = addi %y1, %iw : T",
    "4 * i + lane": "%c = constant <E: 4> : T %y1 = muli %iw, %c : T %x = addi %y1, %lane : T",
    "i << 2": "%c = constant <E: 2> : T %x = shli %iw, %c : T",
    "m + i + lane": "%s = addi %m, %i : S %s1 = reshape %s : S -> tile<1xE> %sw = broadcast %s1 : tile<1xE> -> T"
    " %x = addi %sw, %lane : T",
    "2 * i - m": "%c = constant <E: 2> : S %d = muli %i, %c : S %s = subi %d, %m : S %s1 = reshape %s : S -> tile<1xE>"
    " %x = broadcast %s1 : tile<1xE> -> T",
}
COMPARISONS = ["less_than %x, %nw, {}", "less_than_or_equal %x, %nw, {}", "greater_than %nw, %x, {}",
               "greater_than_or_equal %nw, %x, {}"]  # fmt: skip


def with_types(body: str, element: str) -> str:
    """A body with the types T (tile), S (scalar) and E (element) replaced."""
    typed = re.sub(r"\bT\b", f"tile<4x{element}>", re.sub(r"\bS\b", f"tile<{element}>", body))
    return typed.replace("xE", f"x{element}").replace("<E:", f"<{element}:")


@pytest.mark.parametrize("kind", ["", "unsigned"])
@pytest.mark.parametrize("sign", ["signed", "unsigned"])
@pytest.mark.parametrize("body", BODIES)
def test_results_are_equal_for_every_bound_of_i8(body: str, sign: str, kind: str) -> None:
    seed = f"{body}{sign}{kind}"
    compare = random.Random(seed).choice(COMPARISONS).format(sign)
    text = kernel(with_types(BODIES[body], "i8"), compare, kind, "i8")
    module = split(text)
    assert len(re.findall(r"tilec.split", module.to_text())) == 2
    bounds = cases("i8", kind == "unsigned", seed)
    np.testing.assert_array_equal(stored(module, bounds, "i8"), stored(Module.parse(text), bounds, "i8"))


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_results_are_equal_for_every_comparison(comparison: str) -> None:
    text = kernel(with_types(BODIES["i + lane"], "i16"), comparison.format("signed"), "", "i16")
    bounds = cases("i16", False, comparison)
    np.testing.assert_array_equal(stored(split(text), bounds, "i16"), stored(Module.parse(text), bounds, "i16"))


def test_results_are_equal_for_all_small_bounds() -> None:
    """All combinations of small bounds, limits and steps, so that each case of the split occurs."""
    text = kernel(with_types(BODIES["4 * i + lane"], "i8"), "less_than %x, %nw, signed", "", "i8")
    small = list(itertools.product(range(-2, 4), range(-2, 5), (1, 2, 3), range(-9, 20, 3), (0,)))
    np.testing.assert_array_equal(stored(split(text), small, "i8"), stored(Module.parse(text), small, "i8"))


def iterations_of_both_loops(lower: int, upper: int, step: int, limit: int) -> tuple[int, int]:
    """The numbers of iterations of the first and the second loop, for i + lane < limit with four lanes."""
    text = kernel(with_types(BODIES["i + lane"], "i16"), "less_than %x, %nw, signed", "", "i16")
    module = split(text)
    printed: list[str] = []
    changed = module.to_text()
    first, second = (match.start() for match in re.finditer(r"%next\w* = |continue", changed))
    assert first < second
    parts = changed.split("continue")
    shown = '{0}print_tko "{1}" -> token continue'
    changed = "".join([parts[0], shown.format("", "a"), parts[1], shown.format("", "b"), *parts[2:]])
    arrays = [np.array([value], np.int16) for value in (lower, upper, step, limit, 0)]
    out = np.zeros(4, np.int16)
    arguments = [*(array.ctypes.data for array in arrays), out.ctypes.data]
    interpret(Module.parse(changed).ir, "k", 1, arguments, write=printed.append)
    return "".join(printed).count("a"), "".join(printed).count("b")


@pytest.mark.parametrize(
    ("lower", "upper", "step", "limit", "iterations"),
    [(0, 16, 4, 16, (4, 0)), (0, 16, 4, 15, (3, 1)), (0, 16, 4, 100, (4, 0)), (0, 16, 4, 0, (0, 4)),
     (0, 16, 4, -5, (0, 4)), (0, 0, 4, 16, (0, 0)), (5, 2, 1, 16, (0, 0)), (0, 10, 4, 8, (2, 1))],
)  # fmt: skip
def test_first_loop_has_all_iterations_that_need_no_mask(
    lower: int, upper: int, step: int, limit: int, iterations: tuple[int, int]
) -> None:
    assert iterations_of_both_loops(lower, upper, step, limit) == iterations


class TestLoopsThatAreNotSplit:
    @pytest.mark.parametrize(
        "compare",
        [
            "equal %x, %nw, signed",
            "not_equal %x, %nw, signed",
            "greater_than %x, %nw, signed",
            "less_than %nw, %x, signed",
            "less_than %x, %x, signed",
            "less_than %nw, %nw, signed",
        ],
    )
    def test_loops_with_other_comparisons(self, compare: str) -> None:
        text = kernel(with_types(BODIES["i + lane"], "i8"), compare, "", "i8")
        assert "tilec.split" not in split(text).to_text()

    @pytest.mark.parametrize(
        "body",
        [
            "%x = muli %iw, %iw : T",
            "%c = constant <E: -1> : T %x = muli %iw, %c : T",
            "%x = subi %lane, %iw : T",
            "%x = xori %iw, %lane : T",
            "%x = addi %iw, %acc : T",
        ],
    )
    def test_comparison_without_the_induction_variable(self, body: str) -> None:
        text = kernel(with_types(body, "i8"), "less_than %x, %nw, signed", "", "i8")
        assert "tilec.split" not in split(text).to_text()

    def test_loops_of_64_bits(self) -> None:
        text = kernel(with_types(BODIES["i + lane"], "i64"), "less_than %x, %nw, signed", "", "i64")
        assert "tilec.split" not in split(text).to_text()

    def test_loop_that_was_split(self) -> None:
        text = kernel(with_types(BODIES["i + lane"], "i8"), "less_than %x, %nw, signed", "", "i8")
        once = split(text)
        again = Module.parse(once.to_text())
        run(again.ir, ("split-loops",), evaluate=evaluate)
        assert again.to_text() == Module.parse(once.to_text()).to_text()


MASKED = """cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %o: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32> %size = constant <i32: 128> : tile<i32> %lane = iota : tile<128xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>> %pw = broadcast %p1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %o1 = reshape %o : tile<ptr<f32>> -> tile<1xptr<f32>> %ow = broadcast %o1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %n1 = reshape %n : tile<i32> -> tile<1xi32> %nw = broadcast %n1 : tile<1xi32> -> tile<128xi32>
  %pad = constant <f32: 0.0> : tile<128xf32>
  for %i in (%zero to %n, step %size) : tile<i32> {
    %i1 = reshape %i : tile<i32> -> tile<1xi32> %iw = broadcast %i1 : tile<1xi32> -> tile<128xi32>
    %at = addi %iw, %lane : tile<128xi32> %m = cmpi less_than %at, %nw, signed : tile<128xi32> -> tile<128xi1>
    %q = offset %pw, %at : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %r = offset %ow, %at : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %v, %t = load_ptr_tko weak %q, %m, %pad : tile<128xptr<f32>>, tile<128xi1>, tile<128xf32> -> tile<128xf32>, token
    %w = addf %v, %v : tile<128xf32>
    %u = store_ptr_tko weak %r, %w, %m : tile<128xptr<f32>>, tile<128xf32>, tile<128xi1> -> token
  } } }"""


def masked() -> Module:
    module = Module.parse(MASKED)
    run(module.ir, ("split-loops", "simplify", "cse", "remove-dead"), evaluate=evaluate)
    module.verify()
    return module


def test_accesses_of_the_first_loop_have_no_mask() -> None:
    text = masked().to_text()
    first, second = text.split("for %")[1:]
    assert "i1>" not in first and "cmpi" not in first
    assert second.count("tile<128xi1>") > 1


@pytest.mark.parametrize("count", [0, 1, 127, 128, 129, 384, 500, -1])
def test_split_loop_with_masked_accesses_is_correct(count: int) -> None:
    source = np.arange(512, dtype=np.float32)
    results = []
    for module in (masked(), Module.parse(MASKED)):
        results.append(np.full(512, -1, np.float32))
        ranges = [(array.ctypes.data, array.nbytes, True) for array in (source, results[-1])]
        interpret(module.ir, "k", 1, [source.ctypes.data, results[-1].ctypes.data, count], ranges=ranges, check=True)
    np.testing.assert_array_equal(*results)
    np.testing.assert_array_equal(results[0][: max(count, 0)], 2 * source[: max(count, 0)])


SUMMED = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %o: tile<ptr<i32>>, %rows: tile<i32>, %columns: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32> %two = constant <i32: 2> : tile<i32> %eight = constant <i32: 8> : tile<i32>
  %none = constant <i32: 0> : tile<2x8xi32> %row_length = constant <i32: 32> : tile<2x8xi32>
  %l = iota : tile<2xi32> %l1 = reshape %l : tile<2xi32> -> tile<2x1xi32>
  %across = broadcast %l1 : tile<2x1xi32> -> tile<2x8xi32>
  %k = iota : tile<8xi32> %k1 = reshape %k : tile<8xi32> -> tile<1x8xi32>
  %along = broadcast %k1 : tile<1x8xi32> -> tile<2x8xi32>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1x1xptr<i32>> %pw = broadcast %p1 : tile<1x1xptr<i32>> -> tile<2x8xptr<i32>>
  %r1 = reshape %rows : tile<i32> -> tile<1x1xi32> %rw = broadcast %r1 : tile<1x1xi32> -> tile<2x8xi32>
  %c1 = reshape %columns : tile<i32> -> tile<1x1xi32> %cw = broadcast %c1 : tile<1x1xi32> -> tile<2x8xi32>
  %sum = for %i in (%zero to %rows, step %two) : tile<i32> iter_values(%a = %none) -> (tile<2x8xi32>) {
    %i1 = reshape %i : tile<i32> -> tile<1x1xi32> %iw = broadcast %i1 : tile<1x1xi32> -> tile<2x8xi32>
    %row = addi %iw, %across : tile<2x8xi32> %m = cmpi less_than %row, %rw, signed : tile<2x8xi32> -> tile<2x8xi1>
    %each = for %j in (%zero to %columns, step %eight) : tile<i32> iter_values(%b = %a) -> (tile<2x8xi32>) {
      %early = cmpi equal %i, %eight, signed : tile<i32> -> tile<i1>
      if %early { continue %b : tile<2x8xi32> }
      %j1 = reshape %j : tile<i32> -> tile<1x1xi32> %jw = broadcast %j1 : tile<1x1xi32> -> tile<2x8xi32>
      %col = addi %jw, %along : tile<2x8xi32> %n = cmpi less_than %col, %cw, signed : tile<2x8xi32> -> tile<2x8xi1>
      %both = andi %m, %n : tile<2x8xi1>
      %r32 = muli %row, %row_length : tile<2x8xi32> %at = addi %r32, %col : tile<2x8xi32>
      %q = offset %pw, %at : tile<2x8xptr<i32>>, tile<2x8xi32> -> tile<2x8xptr<i32>>
      %v, %t = load_ptr_tko weak %q, %both, %none
        : tile<2x8xptr<i32>>, tile<2x8xi1>, tile<2x8xi32> -> tile<2x8xi32>, token
      %next = addi %b, %v : tile<2x8xi32>
      continue %next : tile<2x8xi32>
    }
    continue %each : tile<2x8xi32>
  }
  %o1 = reshape %o : tile<ptr<i32>> -> tile<1x1xptr<i32>> %ow = broadcast %o1 : tile<1x1xptr<i32>> -> tile<2x8xptr<i32>>
  %eights = constant <i32: 8> : tile<2x8xi32> %across8 = muli %across, %eights : tile<2x8xi32>
  %offsets = addi %across8, %along : tile<2x8xi32>
  %s = offset %ow, %offsets : tile<2x8xptr<i32>>, tile<2x8xi32> -> tile<2x8xptr<i32>>
  %u = store_ptr_tko weak %s, %sum : tile<2x8xptr<i32>>, tile<2x8xi32> -> token
  } }"""


def summed() -> Module:
    module = Module.parse(SUMMED)
    run(module.ir, ("split-loops", "simplify", "cse", "remove-dead"), evaluate=evaluate)
    module.verify()
    return module


def test_nested_loops_with_masks_of_both_loops_are_split() -> None:
    """The outer loop is split after the inner loop: one of the four resulting inner loops needs no mask."""
    loads = [line for line in summed().to_text().splitlines() if "load_ptr_tko" in line]
    assert len(loads) == 4
    assert ["tile<2x8xi1>" in line for line in loads] == [False, True, True, True]


@pytest.mark.parametrize("columns", [0, 1, 7, 8, 9, 32])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 17])
def test_sums_of_a_matrix_with_early_continues(rows: int, columns: int) -> None:
    """No element outside of the matrix is read, and rows 8 to 9 are skipped."""
    matrix = np.random.default_rng(rows * 64 + columns).integers(-99, 99, (max(rows, 1), 32), dtype=np.int32)
    result = np.full((2, 8), -1, np.int32)
    ranges = [(array.ctypes.data, array.nbytes, True) for array in (matrix, result)]
    arguments = [matrix.ctypes.data, result.ctypes.data, rows, columns]
    interpret(summed().ir, "k", 1, arguments, ranges=ranges, check=True)
    expected = np.zeros((2, 8), np.int32)
    for row in range(rows):
        for column in range(columns):
            expected[row % 2, column % 8] += matrix[row, column] * (row not in (8, 9))
    np.testing.assert_array_equal(result, expected)
