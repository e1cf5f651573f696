"""The pass insert-checks: its assertions fail exactly where Python's integers say so, also after all other passes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tilec.errors import SimulationError
from tilec.lowering.tile.expand.insert_checks import insert_checks
from tilec.lowering.tile.passes import DEFAULT, run
from tilec.remarks import Remark
from tilec.runtime.interpret.evaluate import evaluate
from tilec.runtime.interpret.run import run as interpret
from tilec.text_input.module import Module

# insert-checks alone, and before all passes of a compile.
PIPELINES = {"alone": ("insert-checks",), "first": ("insert-checks", *DEFAULT)}


def module_of(parameters: str, body: str) -> Module:
    return Module.parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{ {body} return }} }}")


def checked(parameters: str, body: str, pipeline: str) -> Module:
    module = module_of(parameters, body)
    run(module.ir, PIPELINES[pipeline], evaluate=evaluate)
    return module


def failure(module: Module, *values: int) -> str | None:
    """The message of the assertion that fails for these arguments."""
    with module.ir.context:
        try:
            interpret(module.ir, "k", 1, values, write=lambda text: None)
        except SimulationError as error:
            return error.message
    return None


def edges(bits: int) -> list[int]:
    half = 1 << bits - 1
    return [-half, -5, -1, 0, 3, half // 2, half - 1]


def fits(value: int, bits: int, signedness: str) -> bool:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signedness == "signed" else (0, (1 << bits) - 1)
    return low <= value <= high


def read(value: int, bits: int, signedness: str) -> int:
    return value if signedness == "signed" else value % (1 << bits)


def promised(operation: str, bits: int, signedness: str) -> str:
    """An operation that promises not to wrap, and a use of its result."""
    type = f"tile<i{bits}>"
    return f'%r = {operation} overflow<no_{signedness}_wrap> : {type} %t = print_tko "%i", %r : {type} -> token'


EXACT: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
}


@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize(("bits", "pipeline"), [(8, "alone"), (16, "first"), (32, "first"), (64, "first")])
@pytest.mark.parametrize("name", EXACT)
def test_overflow_of_two_numbers(name: str, bits: int, signedness: str, pipeline: str) -> None:
    parameters = f"%a: tile<i{bits}>, %b: tile<i{bits}>"
    module = checked(parameters, promised(f"{name} %a, %b", bits, signedness), pipeline)
    for a, b in itertools.product(edges(bits), repeat=2):
        exact = EXACT[name](read(a, bits, signedness), read(b, bits, signedness))
        assert (failure(module, a, b) is None) == fits(exact, bits, signedness), (a, b)


@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize("bits", [8, 32, 64])
def test_overflow_of_a_shift(bits: int, signedness: str) -> None:
    parameters = f"%a: tile<i{bits}>, %b: tile<i{bits}>"
    module = checked(parameters, promised("shli %a, %b", bits, signedness), "first")
    for a, b in itertools.product(edges(bits), (-1, 0, 1, bits // 2, bits - 1, bits)):
        is_defined = 0 <= b < bits and fits(read(a, bits, signedness) << max(b, 0), bits, signedness)
        assert (failure(module, a, b) is None) == is_defined, (a, b)


@pytest.mark.parametrize("signedness", ["signed", "unsigned"])
@pytest.mark.parametrize(("wide", "narrow"), [(16, 8), (32, 16), (64, 32), (64, 8)])
def test_overflow_of_a_truncation(wide: int, narrow: int, signedness: str) -> None:
    body = f"""%r = trunci %a overflow<no_{signedness}_wrap> : tile<i{wide}> -> tile<i{narrow}>
    %t = print_tko "%i", %r : tile<i{narrow}> -> token"""
    module = checked(f"%a: tile<i{wide}>", body, "first")
    for a in {*edges(wide), *edges(narrow), 1 << narrow - 1, (1 << narrow) - 1, 1 << narrow, -(1 << narrow - 1) - 1}:
        is_defined = fits(a, wide, "signed") and fits(read(a, wide, signedness), narrow, signedness)
        if fits(a, wide, "signed"):
            assert (failure(module, a) is None) == is_defined, a


@pytest.mark.parametrize("unsigned", ["", "unsigned "])
@pytest.mark.parametrize("step", [1, 2, 100, 127])
def test_counter_of_a_loop(step: int, unsigned: str) -> None:
    """An i8 counts from each start to each end; the counters are those of Python's range."""
    body = f"""%s = constant <i8: {step}> : tile<i8>
    for {unsigned}%i in (%a to %b, step %s) : tile<i8> {{ %t = print_tko "%i", %i : tile<i8> -> token }}"""
    module = checked("%a: tile<i8>, %b: tile<i8>", body, "alone")
    signedness = "unsigned" if unsigned else "signed"
    for a, b in itertools.product((-128, -3, 0, 90, 125, 126, 127), repeat=2):
        counters = range(read(a, 8, signedness), read(b, 8, signedness), step)
        is_defined = not counters or fits(counters[-1] + step, 8, signedness)
        assert (failure(module, a, b) is None) == is_defined, (a, b)


COPY = "%nothing = constant <i32: 0> : tile<i32> %m = ori %a, %nothing : tile<i32>"
PROMISES = [
    # The comparison is true if the promise holds, so that passes fold what depends on it.
    ("%m = assume bounded<0, 10>, %a : tile<i32>", 11, 10, "the assumption bounded<0, 10> does not hold"),
    ("%m = assume bounded<?, 10>, %a : tile<i32>", 2**31 - 1, -(2**31), "the assumption bounded<., 10>"),
    ("%k = constant <i32: 3> : tile<i32> %m = shri %k, %a signed : tile<i32>", 32, 31, "shift amount of i32"),
    ("%k = constant <i32: 3> : tile<i32> %m = remi %k, %a unsigned : tile<i32>", 0, 4, "division by zero"),
    ("%m = assume div_by<8>, %a : tile<i32>", 12, 8, "the assumption div_by<8> does not hold"),
    # Without their checks these operations have no effect, and passes remove them.
    (f"{COPY} %d = divi %a, %a signed : tile<i32>", 0, 1, "division by zero"),
    (f"{COPY} %d = assume bounded<0, 10>, %a : tile<i32>", 11, 10, "the assumption bounded<0, 10> does not hold"),
    (f"{COPY} for %i in (%m to %m, step %a) : tile<i32> {{ }}", -1, 1, "a for loop needs a positive step"),
]


@pytest.mark.parametrize(("operation", "bad", "good", "message"), PROMISES)
def test_passes_after_it_do_not_use_a_promise_to_remove_its_check(
    operation: str, bad: int, good: int, message: str
) -> None:
    """The promise makes later checks and a branch redundant, and is made twice."""
    body = f"""{operation} %again = assume bounded<-100, 100>, %m : tile<i32>
    %limit = constant <i32: 101> : tile<i32> %low = cmpi less_than %again, %limit, signed : tile<i32> -> tile<i1>
    if %low {{ %t = print_tko "%i", %again : tile<i32> -> token }}
    assert %low, "the promise of the test" : tile<i1>"""
    for pipeline in PIPELINES:
        module = checked("%a: tile<i32>", body, pipeline)
        assert failure(module, bad).startswith(f"assertion failed: {message.replace('<.', '<?')}")
        if good >= -100:
            assert failure(module, good) is None


def test_bodies_of_reductions_have_no_checks_and_a_remark() -> None:
    body = """%x = iota : tile<4xi32>
    %r = reduce %x dim=0 identities=[1 : i32] : tile<4xi32> -> tile<i32>
      (%a: tile<i32>, %b: tile<i32>) {
        %s = OPERATION : tile<i32>
        yield %s : tile<i32>
      }"""
    counts = {"addi %a, %b": 0, "addi %a, %b overflow<no_signed_wrap>": 1, "divi %a, %b signed": 1}
    for operation, count in counts.items():
        remarks: list[Remark] = []
        module = module_of("", body.replace("OPERATION", operation))
        with module.ir.context:
            insert_checks(module.ir, remarks)
        assert [remark.topic for remark in remarks] == ["checks"] * count
        assert all("the body of a reduction or a scan" in remark.message for remark in remarks)
        assert "assert" not in module.to_text()


def test_an_assumption_whose_groups_do_not_divide_the_tile_has_a_remark() -> None:
    remarks: list[Remark] = []
    module = module_of("", "%x = iota : tile<4xi32> %r = assume same_elements<[3]>, %x : tile<4xi32>")
    with module.ir.context:
        insert_checks(module.ir, remarks)
    assert [remark.message for remark in remarks] == ["the assumption has no check: its groups do not divide the tile"]


@pytest.mark.parametrize(("element", "count"), [("i1", 0), ("i8", 0), ("f4E2M1FN", 1)])
def test_rows_that_end_inside_of_a_byte(element: str, count: int) -> None:
    """An i1 in memory is a byte."""
    tensor = f"tensor_view<7x{element}, strides=[1]>"
    view = f"partition_view<tile=(4), padding_value = zero, {tensor}>"
    body = f"""%t = make_tensor_view %p, shape = [7], strides = [1] : {tensor}
    %v = make_partition_view %t : {view} %zero = constant <i32: 0> : tile<i32>
    %x, %k = load_view_tko weak %v[%zero] : {view}, tile<i32> -> tile<4x{element}>, token"""
    text = checked(f"%p: tile<ptr<{element}>>", body, "alone").to_text()
    assert text.count("must be even") == text.count("assert") == count


def test_a_loop_over_the_tiles_of_a_view_needs_no_check_of_the_index() -> None:
    view = "partition_view<tile=(4), padding_value = zero, tensor_view<?xi32, strides=[1]>>"
    body = f"""%t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
    %v = make_partition_view %t : {view} %c = get_index_space_shape %v : {view} -> tile<i32>
    %zero = constant <i32: 0> : tile<i32> %one = constant <i32: 1> : tile<i32>
    for %i in (FROM to %c, step %one) : tile<i32> {{
      %x, %k = load_view_tko weak %v[%i] : {view}, tile<i32> -> tile<4xi32>, token
    }}"""
    parameters = "%p: tile<ptr<i32>>, %n: tile<i32>"
    assert "assert" not in checked(parameters, body.replace("FROM", "%zero"), "alone").to_text()
    assert "index 0 of the view" in checked(parameters, body.replace("FROM", "%n"), "alone").to_text()
