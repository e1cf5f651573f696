"""Each pass on Tile IR, with programs that it changes and programs that it must not change."""

from __future__ import annotations

import re

import pytest

from tilec.lowering.tile.passes import DEFAULT, PASSES, run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

ARGUMENTS = "%n: tile<i32>, %c: tile<i1>, %p: tile<ptr<f32>>"


def after(name: str, body: str) -> list[str]:
    """The lines of a kernel's body after a pass."""
    module = Module.parse(f"cuda_tile.module @m {{ entry @k({ARGUMENTS}) {{ {body} }} }}")
    run(module.ir, (name,), evaluate=evaluate)
    module.verify()
    lines = module.to_text().splitlines()[2:-2]
    return [re.sub(r"\s+", " ", line).strip() for line in lines]


def body(*operations: str) -> str:
    return "\n".join(operations)


USE = 'print_tko "%d", {} : {} -> token'
VALUES = body(
    "%a = constant <f32: 1.5> : tile<4xf32>",
    "%b = constant <f32: 2.5> : tile<4xf32>",
    "%d = constant <f32: 3.5> : tile<4xf32>",
)


def names(lines: list[str]) -> list[str]:
    """The names of the operations."""
    found = [re.sub(r"^[%\w:, ]+ = ", "", line).split(" ")[0].split("(")[0] for line in lines]
    return [name for name in found if name not in ("constant", "return", "}")]


class TestFuseFma:
    def test_product_with_one_use_is_fused(self) -> None:
        lines = after("fuse-fma", f"{VALUES} %m = mulf %a, %b : tile<4xf32> %s = addf %m, %d : tile<4xf32>")
        assert names(lines) == ["fma"]
        assert "fma %cst_f32, %cst_f32_0, %cst_f32_1 : tile<4xf32>" in lines[3]

    def test_product_may_be_the_right_operand(self) -> None:
        lines = after("fuse-fma", f"{VALUES} %m = mulf %a, %b : tile<4xf32> %s = addf %d, %m : tile<4xf32>")
        assert "fma %cst_f32, %cst_f32_0, %cst_f32_1 : tile<4xf32>" in lines[3]

    def test_difference_negates_the_summand_or_a_factor(self) -> None:
        left = after("fuse-fma", f"{VALUES} %m = mulf %a, %b : tile<4xf32> %s = subf %m, %d : tile<4xf32>")
        right = after("fuse-fma", f"{VALUES} %m = mulf %a, %b : tile<4xf32> %s = subf %d, %m : tile<4xf32>")
        assert names(left) == names(right) == ["negf", "fma"]
        assert left[3].endswith("negf %cst_f32_1 : tile<4xf32>")
        assert right[3].endswith("negf %cst_f32 : tile<4xf32>")

    def test_product_with_two_uses_is_not_fused(self) -> None:
        text = f"{VALUES} %m = mulf %a, %b : tile<4xf32> %s = addf %m, %m : tile<4xf32>"
        assert names(after("fuse-fma", text)) == ["mulf", "addf"]

    @pytest.mark.parametrize("modifier", ["rounding<zero>", "flush_to_zero"])
    def test_other_rounding_or_flushing_is_not_fused(self, modifier: str) -> None:
        text = f"{VALUES} %m = mulf %a, %b {modifier} : tile<4xf32> %s = addf %m, %d : tile<4xf32>"
        assert names(after("fuse-fma", text)) == ["mulf", "addf"]

    def test_fused_operation_has_the_rounding_mode(self) -> None:
        text = f"{VALUES} %m = mulf %a, %b rounding<zero> : tile<4xf32> %s = addf %m, %d rounding<zero> : tile<4xf32>"
        assert "rounding<zero>" in after("fuse-fma", text)[3]

    def test_compile_does_not_fuse(self) -> None:
        assert "fuse-fma" not in DEFAULT


def loop(*inside: str) -> str:
    return body(
        VALUES,
        "%zero = constant <i32: 0> : tile<i32>",
        "for %i in (%zero to %n, step %n) : tile<i32> {",
        *inside,
        "}",
    )


class TestHoistInvariants:
    def test_invariant_operations_move_before_the_loop_in_order(self) -> None:
        lines = after("hoist-invariants", loop("%m = mulf %a, %b : tile<4xf32>", "%s = addf %m, %d : tile<4xf32>"))
        assert names(lines) == ["mulf", "addf", "for"]

    def test_an_extract_at_constant_indices_inside_the_grid_moves(self) -> None:
        part = "%x = extract %a[%{}] : tile<4xf32> -> tile<2xf32>"
        kept = after("hoist-invariants", loop("%two = constant <i32: 2> : tile<i32>", part.format("two")))
        assert names(kept)[0] == "for"
        moved = after("hoist-invariants", loop("%one = constant <i32: 1> : tile<i32>", part.format("one")))
        assert names(moved)[0] == "extract"

    def test_invariant_operations_move_before_all_nested_loops(self) -> None:
        inner = "for %j in (%zero to %n, step %n) : tile<i32> { %m = mulf %a, %b : tile<4xf32> }"
        assert names(after("hoist-invariants", loop(inner))) == ["mulf", "for", "for"]

    def test_operations_that_depend_on_the_outer_loop_leave_only_the_inner_loop(self) -> None:
        inner = "for %j in (%zero to %n, step %n) : tile<i32> { %m = addi %i, %n : tile<i32> }"
        assert names(after("hoist-invariants", loop(inner))) == ["for", "addi", "for"]

    def test_reduction_moves_with_its_body(self) -> None:
        reduction = (
            "%r = reduce %a dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32> (%x: tile<f32>, %y: tile<f32>)"
            " { %s = addf %x, %y : tile<f32> yield %s : tile<f32> }"
        )
        lines = after("hoist-invariants", loop(reduction))
        assert [name for name in names(lines) if name in ("reduce", "for")] == ["reduce", "for"]

    @pytest.mark.parametrize(
        "kept",
        [
            "%x = addi %i, %n : tile<i32>",
            "%x = divi %n, %n signed : tile<i32>",
            "%x = assume div_by<16>, %n : tile<i32>",
            "%x = addi %n, %n overflow<no_signed_wrap> : tile<i32>",
            "%x = shli %n, %n : tile<i32>",
            "%x = ftoi %a signed : tile<4xf32> -> tile<4xi32>",
            "%x = extract %a[%n] : tile<4xf32> -> tile<2xf32>",
            "%x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token",
            'assert %c, "here" : tile<i1>',
            "if %c { }",
        ],
    )
    def test_variant_trapping_or_effectful_operations_are_not_moved(self, kept: str) -> None:
        assert names(after("hoist-invariants", loop(kept)))[0] == "for"

    @pytest.mark.parametrize(
        "moved",
        [
            "%x = addi %n, %n : tile<i32>",
            "%two = constant <i32: 2> : tile<i32> %x = shli %n, %two : tile<i32>",
            "%x = ftoi %a signed saturating : tile<4xf32> -> tile<4xi32>",
            "%x = exp %a : tile<4xf32>",
            "%x = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>",
        ],
    )
    def test_operations_without_undefined_behaviour_move(self, moved: str) -> None:
        assert names(after("hoist-invariants", loop(moved)))[-1] == "for"

    def test_reduction_of_a_value_of_the_loop_is_not_moved(self) -> None:
        reduction = (
            "%v = reshape %i : tile<i32> -> tile<1xi32>"
            "%r = reduce %v dim=0 identities=[0 : i32] : tile<1xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>)"
            " { %s = addi %x, %y : tile<i32> yield %s : tile<i32> }"
        )
        assert names(after("hoist-invariants", loop(reduction)))[0] == "for"

    def test_reduction_whose_body_uses_a_value_of_the_loop_is_not_moved(self) -> None:
        reduction = (
            "%v = constant <i32: 1> : tile<8xi32>"
            "%r = reduce %v dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>)"
            " { %s = addi %x, %i : tile<i32> yield %s : tile<i32> }"
        )
        assert names(after("hoist-invariants", loop(reduction)))[0] == "for"


def folded(operation: str, type: str = "tile<i8>") -> str:
    """The constant or the operation after folding an operation of constants."""
    lines = after("fold-constants", f"{operation} {USE.format('%r', type)}")
    line = next(each for each in reversed(lines) if " = " in each and "print_tko" not in each)
    return line.split(" = ", 1)[1].split(" : ")[0]


_UP = " rounding<positive_inf>"


def constants(a: str, b: str, tile: str = "tile<i8>") -> str:
    element = tile.rsplit("x", 1)[-1].removeprefix("tile<").removesuffix(">")
    return f"%a = constant <{element}: {a}> : {tile} %b = constant <{element}: {b}> : {tile} "


class TestFoldConstants:
    @pytest.mark.parametrize(
        ("a", "b", "operation", "result"),
        [
            ("100", "100", "addi %a, %b", "-56"),
            ("-128", "1", "subi %a, %b", "127"),
            ("16", "17", "muli %a, %b", "16"),
            ("-1", "-1", "mulhii %a, %b", "-2"),
            ("-7", "2", "divi %a, %b signed", "-3"),
            ("-7", "2", "divi %a, %b signed rounding<negative_inf>", "-4"),
            ("7", "2", "divi %a, %b signed rounding<positive_inf>", "4"),
            ("-7", "2", "divi %a, %b unsigned", "124"),
            ("-7", "2", "remi %a, %b signed", "-1"),
            ("-7", "4", "remi %a, %b unsigned", "1"),
            ("-1", "1", "maxi %a, %b signed", "1"),
            ("-1", "1", "maxi %a, %b unsigned", "-1"),
            ("-1", "1", "mini %a, %b signed", "-1"),
            ("12", "10", "andi %a, %b", "8"),
            ("12", "10", "ori %a, %b", "14"),
            ("12", "10", "xori %a, %b", "6"),
            ("3", "6", "shli %a, %b", "-64"),
            ("-128", "3", "shri %a, %b signed", "-16"),
            ("-128", "3", "shri %a, %b unsigned", "16"),
            ("-128", "5", "negi %a", "-128"),
            ("-5", "5", "absi %a", "5"),
        ],
    )
    def test_arithmetic_of_i8(self, a: str, b: str, operation: str, result: str) -> None:
        assert folded(f"{constants(a, b)} %r = {operation} : tile<i8>") == f"constant <i8: {result}>"

    @pytest.mark.parametrize(
        ("operation", "result"),
        [
            ("cmpi less_than %a, %b, signed : tile<i8> -> tile<i1>", "constant <i1: true>"),
            ("cmpi less_than %a, %b, unsigned : tile<i8> -> tile<i1>", "constant <i1: false>"),
            ("exti %a signed : tile<i8> -> tile<i32>", "constant <i32: -2>"),
            ("exti %a unsigned : tile<i8> -> tile<i32>", "constant <i32: 254>"),
        ],
    )
    def test_other_types(self, operation: str, result: str) -> None:
        type = operation.rsplit("-> ", 1)[1]
        assert folded(f"{constants('-2', '1')} %r = {operation}", type) == result

    def test_truncation(self) -> None:
        text = "%a = constant <i32: 511> : tile<i32> %r = trunci %a : tile<i32> -> tile<i8>"
        assert folded(text) == "constant <i8: -1>"

    def test_lists_fold_element_by_element(self) -> None:
        text = f"{constants('[1, 2, 3, 4]', '10', 'tile<4xi32>')} %r = muli %a, %b : tile<4xi32>"
        assert folded(text, "tile<4xi32>") == "constant <i32: [10, 20, 30, 40]>"

    def test_chains_fold_in_one_run(self) -> None:
        text = (
            f"{constants('2', '3')} %x = addi %a, %b : tile<i8> %y = muli %x, %x : tile<i8> %r = subi %y, %a : tile<i8>"
        )
        assert folded(text) == "constant <i8: 23>"

    def test_movement_of_a_splat_is_a_constant(self) -> None:
        text = "%a = constant <f32: 1.5> : tile<f32> %b = reshape %a : tile<f32> -> tile<1xf32>"
        assert (
            folded(f"{text} %r = broadcast %b : tile<1xf32> -> tile<8xf32>", "tile<8xf32>")
            == "constant <f32: 1.500000e+00>"
        )

    def test_select_of_a_known_condition(self) -> None:
        text = f"{constants('2', '3')} %t = constant <i1: true> : tile<i1> %s = select %t, %a, %b : tile<i1>, tile<i8>"
        assert folded(f"{text} %r = addi %s, %b : tile<i8>") == "constant <i8: 5>"

    @pytest.mark.parametrize(
        "operation",
        [
            "divi %a, %zero signed",
            "remi %a, %zero unsigned",
            "divi %least, %minus signed",
            "addi %least, %minus overflow<no_signed_wrap>",
            "addi %minus, %a overflow<no_unsigned_wrap>",
            "muli %least, %a overflow<no_wrap>",
            "shli %a, %eight",
            "shri %a, %eight signed",
            "negi %least overflow<no_signed_wrap>",
        ],
    )
    def test_undefined_results_and_violated_assumptions_are_not_folded(self, operation: str) -> None:
        text = (
            "%a = constant <i8: 5> : tile<i8> %zero = constant <i8: 0> : tile<i8>"
            " %least = constant <i8: -128> : tile<i8> %minus = constant <i8: -1> : tile<i8>"
            " %eight = constant <i8: 8> : tile<i8>"
        )
        assert folded(f"{text} %r = {operation} : tile<i8>").startswith(operation.split(" ")[0])

    def test_floats_fold_with_the_rounding_mode(self) -> None:
        operands = "%a = constant <f32: 1.0> : tile<f32> %b = constant <f32: 3.0> : tile<f32>"
        nearest, up = (folded(f"{operands} %r = divf %a, %b{mode} : tile<f32>", "tile<f32>") for mode in ("", _UP))
        assert (nearest, up) == ("constant <f32: 0.333333343>", "constant <f32: 0.333333343>")
        down = folded(f"{operands} %r = divf %a, %b rounding<zero> : tile<f32>", "tile<f32>")
        assert down == "constant <f32: 0.333333313>"

    @pytest.mark.parametrize(
        "operation",
        ["exp %a", "rsqrt %a", "tanh %a", "fpowf %a, %b", "divf %a, %b rounding<approx>", "sqrt %a rounding<approx>"],
    )
    def test_approximate_functions_are_not_folded(self, operation: str) -> None:
        text = f"{VALUES} %r = {operation} : tile<4xf32>"
        assert folded(text, "tile<4xf32>").startswith(operation.split(" ")[0])

    def test_nan_result_is_not_folded(self) -> None:
        text = "%a = constant <f32: 0.0> : tile<f32> %r = divf %a, %a : tile<f32>"
        assert folded(text, "tile<f32>").startswith("divf")

    def test_conversion_out_of_range_is_not_folded(self) -> None:
        text = "%a = constant <f32: 300.0> : tile<f32> %r = ftoi %a signed{} : tile<f32> -> tile<i8>"
        assert folded(text.format(""), "tile<i8>").startswith("ftoi")
        assert folded(text.format(" saturating"), "tile<i8>") == "constant <i8: 127>"

    def test_splats_do_not_become_lists(self) -> None:
        text = f"{constants('1', '2', 'tile<2xi8>')} %r = cat %a, %b dim = 0 : tile<2xi8>, tile<2xi8> -> tile<4xi8>"
        assert folded(text, "tile<4xi8>").startswith("cat")

    def test_movement_of_a_list_folds(self) -> None:
        text = "%a = constant <i8: [[1, 2], [3, 4]]> : tile<2x2xi8>"
        assert (
            folded(f"{text} %r = permute %a [1, 0] : tile<2x2xi8> -> tile<2x2xi8>", "tile<2x2xi8>")
            == "constant <i8: [[1, 3], [2, 4]]>"
        )

    def test_large_tiles_fold_only_as_splats(self) -> None:
        big = "tile<8192xi8>"
        assert folded(f"{constants('1', '2', big)} %r = addi %a, %b : {big}", big) == "constant <i8: 3>"
        raw = "".join(f"{number % 256:02X}" for number in range(8192))
        text = f'%a = constant <i8: "0x{raw}"> : {big} %r = addi %a, %a : {big}'
        assert folded(text, big).startswith("addi")

    def test_operations_of_variables_are_not_folded(self) -> None:
        assert folded("%r = addi %n, %n : tile<i32>", "tile<i32>").startswith("addi")


STORE = "store_ptr_tko weak %p, %s{} : tile<ptr<f32>>, tile<f32> -> token"
START = "%s = constant <f32: 1.5> : tile<f32> %m = make_token : token "


class TestPruneTokens:
    def test_token_without_dependencies_is_removed(self) -> None:
        lines = after("prune-tokens", START + "%t = " + STORE.format(" token = %m"))
        assert lines[1] == "%0 = store_ptr_tko weak %arg2, %cst_f32 : tile<ptr<f32>>, tile<f32> -> token"
        assert names(lines) == ["store_ptr_tko"]

    def test_join_has_no_new_or_repeated_tokens(self) -> None:
        text = START + f"%t = {STORE.format('')} %j = join_tokens %m, %t, %t : token %u = {STORE.format(' token = %j')}"
        lines = after("prune-tokens", text)
        assert names(lines) == ["store_ptr_tko", "store_ptr_tko"]
        assert "token=%0" in lines[2]

    def test_join_has_no_transitive_dependencies(self) -> None:
        text = START + f"%t = {STORE.format('')} %u = {STORE.format(' token = %t')} %j = join_tokens %t, %u : token"
        lines = after("prune-tokens", f"{text} %v = {STORE.format(' token = %j')}")
        assert names(lines) == ["store_ptr_tko"] * 3
        assert "token=%1" in lines[3]

    def test_join_of_new_tokens_is_removed(self) -> None:
        lines = after("prune-tokens", START + f"%j = join_tokens %m, %m : token %v = {STORE.format(' token = %j')}")
        assert "token=" not in lines[1] or names(lines) == ["make_token", "store_ptr_tko"]

    def test_join_of_independent_tokens_is_kept(self) -> None:
        text = START + f"%t = {STORE.format('')} %u = {STORE.format('')} %j = join_tokens %t, %u : token"
        lines = after("prune-tokens", f"{text} %v = {STORE.format(' token = %j')}")
        assert names(lines) == ["store_ptr_tko", "store_ptr_tko", "join_tokens", "store_ptr_tko"]

    def test_carried_tokens_are_kept(self) -> None:
        text = START + body(
            "%zero = constant <i32: 0> : tile<i32>",
            "%f = for %i in (%zero to %n, step %n) : tile<i32> iter_values(%k = %m) -> (token) {",
            f"%t = {STORE.format(' token = %k')}",
            "continue %t : token }",
        )
        lines = after("prune-tokens", text)
        assert "make_token" in names(lines)
        assert any("token=%iterArg0" in line for line in lines)


class TestUpstream:
    def test_canonicalize_removes_unused_operations(self) -> None:
        assert names(after("canonicalize", f"{VALUES} %m = mulf %a, %b : tile<4xf32>")) == []

    def test_canonicalize_keeps_effects(self) -> None:
        assert names(after("canonicalize", START + f"%t = {STORE.format('')}")) == ["store_ptr_tko"]

    def test_cse_merges_equal_operations(self) -> None:
        text = (
            "%a = addi %n, %n : tile<i32> %b = addi %n, %n : tile<i32>"
            + 'print_tko "%d %d", %a, %b : tile<i32>, tile<i32> -> token'
        )
        assert names(after("cse", text)) == ["addi", "print_tko"]

    @pytest.mark.parametrize("operation", ["reduce", "scan"])
    def test_cse_merges_equal_reductions(self, operation: str) -> None:
        """Reductions with equal bodies are merged, with different bodies are not."""
        result, direction = ("tile<f32>", "") if operation == "reduce" else ("tile<4xf32>", " reverse=false")

        def reduction(name: str, body: str) -> str:
            return (
                f"%{name} = {operation} %a dim=0{direction} identities=[0.0 : f32] : tile<4xf32> -> {result}"
                f" (%x: tile<f32>, %y: tile<f32>) {{ %s = {body} %x, %y : tile<f32> yield %s : tile<f32> }} "
            )

        text = VALUES + reduction("u", "addf") + reduction("v", "addf") + reduction("w", "maxf")
        lines = after("cse", f'{text} print_tko "%f %f %f", %u, %v, %w : {result}, {result}, {result} -> token')
        assert names(lines).count(operation) == 2
        assert names(after("canonicalize", text)) == []

    def test_cse_keeps_two_loads(self) -> None:
        load = "load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token"
        assert names(after("cse", f"%a, %s = {load} %b, %t = {load}")) == ["load_ptr_tko", "load_ptr_tko"]

    def test_early_exits_are_kept(self) -> None:
        text = "loop { if %c { break } if %c { return } continue }"
        for name in ("canonicalize", "cse"):
            assert names(after(name, text)) == ["loop", "if", "break", "if"]


KERNEL = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %two = constant <i32: 2> : tile<i32>
    %tv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %pv = make_partition_view %tv : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
    %t0 = make_token : token
    for %i in (%zero to %n, step %two) : tile<i32> {
      %one = subi %two, %two : tile<i32>
      %j = addi %i, %one : tile<i32>
      %k = muli %n, %two : tile<i32>
      %v, %t = load_view_tko weak %pv[%j] token = %t0
        : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
      %u = store_view_tko weak %v, %pv[%k] token = %t
        : tile<8xf32>, partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
    }
  }
}
"""


def test_pipeline_of_compile() -> None:
    module = Module.parse(KERNEL)
    run(module.ir, evaluate=evaluate)
    module.verify()
    lines = [re.sub(r"\s+", " ", line).strip() for line in module.to_text().splitlines()[2:-2]]
    assert names(lines) == [
        "make_tensor_view",
        "make_partition_view",
        "muli",
        "for",
        "load_view_tko",
        "store_view_tko",
    ]
    # The index is the induction variable, and the token without dependencies is removed.
    assert "load_view_tko weak %pview[%loopIdx] : " in lines[-4]


def test_pipeline_of_compile_is_idempotent() -> None:
    module = Module.parse(KERNEL)
    once = Module(run(module.ir, evaluate=evaluate)).to_text()
    assert Module(run(module.ir, evaluate=evaluate)).to_text() == once


def test_every_pass_has_a_description() -> None:
    assert all(each.summary for each in PASSES.values())
    assert set(DEFAULT) <= set(PASSES)
