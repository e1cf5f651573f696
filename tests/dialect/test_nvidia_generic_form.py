"""The generic form of NVIDIA's tools is printed and read back, and read as assembly for each kind of attribute."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.dialect.cuda_tile.enums import ENUMERATIONS
from tilec.dialect.mlir import context
from tilec.dialect.operation import OPERATIONS
from tilec.errors import TilecError
from tilec.text_input.module import Module

FILES = sorted((Path(__file__).parent / "assembly").glob("*.mlir"))
files = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
TILE, TOKEN = "!cuda_tile.tile", "!cuda_tile.token"


@files
@pytest.mark.parametrize("locations", [False, True], ids=["without locations", "with locations"])
def test_round_trip(path: Path, locations: bool) -> None:
    module = Module.read(path)
    text = module.to_text(generic="nvidia", locations=locations)
    assert text.startswith('"cuda_tile.module"() <{sym_name = "kernels"')
    again = Module.parse(text, "again.mlir")
    assert again.to_text(locations=locations) == module.to_text(locations=locations)
    assert again.to_text(generic=True) == module.to_text(generic=True)
    assert again.to_text(generic="nvidia", locations=locations) == text


def kernel(arguments: dict[str, str], body: str) -> str:
    listed = ", ".join(f"{name}: {type}" for name, type in arguments.items())
    return f"""
    "cuda_tile.module"() <{{sym_name = "kernels"}}> ({{
      "cuda_tile.entry"() <{{function_type = ({", ".join(arguments.values())}) -> (), sym_name = "k"}}> ({{
      ^bb0({listed}):
        {body}
        "cuda_tile.return"() : () -> ()
      }}) : () -> ()
    }}) : () -> ()"""


def lines(arguments: dict[str, str], body: str) -> list[str]:
    """The lines of the kernel's body in assembly."""
    return [line.strip() for line in Module.parse(kernel(arguments, body)).to_text().splitlines()[2:-3]]


INTEGERS = {"%a": f"{TILE}<i32>", "%b": f"{TILE}<i32>"}
FLOATS = {"%a": f"{TILE}<f32>", "%b": f"{TILE}<f32>"}
POINTERS = {"%p": f"{TILE}<ptr<i32>>", "%a": f"{TILE}<i32>"}


@pytest.mark.parametrize(
    ("arguments", "operation", "assembly"),
    [
        (
            INTEGERS,
            '"cuda_tile.addi"(%a, %b) <{overflow = #cuda_tile.overflow<no_wrap>}> : (!T, !T) -> !T',
            "%0 = addi %arg0, %arg1 overflow<no_wrap> : tile<i32>",
        ),
        (INTEGERS, '"cuda_tile.addi"(%a, %b) : (!T, !T) -> !T', "%0 = addi %arg0, %arg1 : tile<i32>"),
        (
            INTEGERS,
            '"cuda_tile.cmpi"(%a, %b) {comparison_predicate = #cuda_tile.comparison_predicate<greater_than>, '
            "signedness = #cuda_tile.signedness<unsigned>} : (!T, !T) -> !cuda_tile.tile<i1>",
            "%0 = cmpi greater_than %arg0, %arg1, unsigned : tile<i32> -> tile<i1>",
        ),
        (
            FLOATS,
            '"cuda_tile.cmpf"(%a, %b) <{comparison_ordering = #cuda_tile.comparison_ordering<unordered>, '
            "comparison_predicate = #cuda_tile.comparison_predicate<not_equal>}> : (!T, !T) -> !cuda_tile.tile<i1>",
            "%0 = cmpf not_equal unordered %arg0, %arg1 : tile<f32> -> tile<i1>",
        ),
        (
            FLOATS,
            '"cuda_tile.divf"(%a, %b) <{flush_to_zero, rounding_mode = #cuda_tile.rounding<approx>}> : (!T, !T) -> !T',
            "%0 = divf %arg0, %arg1 rounding<approx> flush_to_zero : tile<f32>",
        ),
        (
            FLOATS,
            '"cuda_tile.sqrt"(%a) <{rounding_mode = #cuda_tile.rounding<zero>}> : (!T) -> !T',
            "%0 = sqrt %arg0 rounding<zero> : tile<f32>",
        ),
        (
            {"%a": f"{TILE}<ptr<i32>>"},
            '"cuda_tile.assume"(%a) <{predicate = #cuda_tile.div_by<16>}> : (!T) -> !T',
            "%assume = assume div_by<16>, %arg0 : tile<ptr<i32>>",
        ),
        (
            {"%a": f"{TILE}<i32>"},
            '"cuda_tile.constant"() <{value = dense<[[1, 2], [3, 4]]> : !cuda_tile.tile<2x2xi32>}> '
            ": () -> !cuda_tile.tile<2x2xi32>",
            "%cst_i32 = constant <i32: [[1, 2], [3, 4]]> : tile<2x2xi32>",
        ),
        (
            {"%a": f"{TILE}<i32>"},
            '"cuda_tile.constant"() <{value = dense<0x7F> : !cuda_tile.tile<2xf8E4M3FN>}> '
            ": () -> !cuda_tile.tile<2xf8E4M3FN>",
            "%cst_f8E4M3FN = constant <f8E4M3FN: 0x7F> : tile<2xf8E4M3FN>",
        ),
        (
            {"%a": f"{TILE}<i32>"},
            '"cuda_tile.alloca"() <{alignment = 16 : i64, global, num_elem = 64 : i64}> '
            ": () -> !cuda_tile.tile<ptr<f32>>",
            "%0 = alloca num_elem = 64, alignment = 16 global : tile<ptr<f32>>",
        ),
    ],
)
def test_attributes(arguments: dict[str, str], operation: str, assembly: str) -> None:
    assert lines(arguments, f"%0 = {operation.replace('!T', arguments['%a'])}") == [assembly]


# In the order of their numeric values in the Tile IR reference.
ORDERINGS = ("weak", "relaxed", "acquire", "release", "acq_rel")
SCOPES = ("tl_blk", "device", "sys")
MODES = ("and", "or", "xor", "add", "addf", "max", "min", "umax", "umin", "xchg")


@pytest.mark.parametrize("mode", [each for each in MODES if each != "addf"])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("ordering", ORDERINGS[1:])
def test_enumerations_by_number(ordering: str, scope: str, mode: str) -> None:
    numbers = (
        f"memory_ordering_semantics = {ORDERINGS.index(ordering)} : i32, memory_scope = {SCOPES.index(scope)} : i32"
    )
    operation = (
        f'%0:2 = "cuda_tile.atomic_rmw_tko"(%p, %a) <{{{numbers}, mode = {MODES.index(mode)} : i32, '
        f"operandSegmentSizes = array<i32: 1, 1, 0, 0>}}> : ({TILE}<ptr<i32>>, {TILE}<i32>) -> ({TILE}<i32>, {TOKEN})"
    )
    assert lines(POINTERS, operation) == [
        f"%result, %result_token = atomic_rmw_tko {ordering} {scope} %arg0, {mode}, %arg1 "
        ": tile<ptr<i32>>, tile<i32> -> tile<i32>, token"
    ]


def test_hints_globals_and_symbols() -> None:
    text = """
    "cuda_tile.module"() <{producer = "me", sym_name = "kernels"}> ({
      "cuda_tile.global"() <{alignment = 8 : i64, constant, sym_name = "g",
        symbol_visibility = #cuda_tile.symbol_visibility<private>, value = dense<1.5>
        : !cuda_tile.tile<4xf32>}> : () -> ()
      "cuda_tile.entry"() <{arg_attrs = [{cuda_tile.foo}], function_type = (!cuda_tile.tile<i1>) -> (),
        optimization_hints = #cuda_tile.optimization_hints<sm_100 = {occupancy = 2 : i64}>, sym_name = "k"}> ({
      ^bb0(%c: !cuda_tile.tile<i1>):
        %0 = "cuda_tile.get_global"() <{name = @g}> : () -> !cuda_tile.tile<ptr<f32>>
        "cuda_tile.if"(%c) ({
          "cuda_tile.yield"() : () -> ()
        }, {
        }) : (!cuda_tile.tile<i1>) -> ()
        "cuda_tile.return"() : () -> ()
      }) {my.fact = 1 : i32} : () -> ()
    }) : () -> ()"""
    assert Module.parse(text).to_text().splitlines() == [
        'cuda_tile.module @kernels attributes {producer = "me"} {',
        "  global private constant @g alignment = 8 <f32: 1.500000e+00> : tile<4xf32>",
        "  entry @k(%arg0: tile<i1> {cuda_tile.foo}) optimization_hints=<sm_100 = {occupancy = 2 : i64}> {",
        "    %0 = get_global @g : tile<ptr<f32>>",
        "    if %arg0 {",
        "    }",
        "    return",
        "  } {my.fact = 1 : i32}",
        "}",
    ]


def test_every_enumeration_is_used_by_a_field_or_a_type() -> None:
    context()
    named = {field.enumeration for cls in OPERATIONS.values() for field in cls.attribute_fields.values()}
    assert named - {""} == set(ENUMERATIONS) - {"padding_value", "ptr_attr"}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            '"cuda_tile.addi"(%a, %b) <{overflow = #cuda_tile.overflow<wrap>}> : (!T, !T) -> !T',
            "#cuda_tile.overflow to be one of: none, no_signed_wrap, no_unsigned_wrap, no_wrap, but got 'wrap'",
        ),
        (
            '"cuda_tile.addi"(%a, %b) <{overflow = #cuda_tile.overflo<none>}> : (!T, !T) -> !T',
            "unknown attribute: #cuda_tile.overflo",
        ),
        (
            '"cuda_tile.addi"(%a, %b) <{overflow = 9 : i32}> : (!T, !T) -> !T',
            "'overflow' must be a keyword, one of: none, no_signed_wrap, no_unsigned_wrap, no_wrap, but got 9",
        ),
        (
            '"cuda_tile.addi"(%a, %b) <{overflow = #cuda_tile.rounding<zero>}> : (!T, !T) -> !T',
            "attribute 'overflow' must be one of: none, no_signed_wrap, no_unsigned_wrap, no_wrap, but got: zero",
        ),
        ('"cuda_tile.addi"(%a, %b) : (!T) -> !T', "expected 2 operand types, but got 1"),
        ('"cuda_tile.addi"(%a, %b) ({ }) : (!T, !T) -> !T', "'cuda_tile.addi' has 0 regions, but got 1"),
        ('"cuda_tile.loop"() : () -> !T', "'cuda_tile.loop' has 1 regions, but got 0"),
        (
            '"cuda_tile.store_ptr_tko"(%a, %b) <{memory_ordering_semantics = 0 : i32}> : (!T, !T) -> !cuda_tile.token',
            "'cuda_tile.store_ptr_tko' requires attribute 'operandSegmentSizes' of 4 sizes",
        ),
        (
            '"cuda_tile.store_ptr_tko"(%a, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> : (!T, !T) -> !T',
            "'operandSegmentSizes' of 4 sizes must add up to 2 operands, but got array<i32: 1, 1, 1, 1>",
        ),
        (
            '"cuda_tile.store_ptr_tko"(%a, %b) <{operandSegmentSizes = array<i32: 3, -1, 0, 0>}> : (!T, !T) -> !T',
            "'operandSegmentSizes' of 4 sizes must add up to 2 operands",
        ),
        (
            '"cuda_tile.store_ptr_tko"(%a, %b) <{operandSegmentSizes = "many"}> : (!T, !T) -> !T',
            "'operandSegmentSizes' of 4 sizes must add up to 2 operands, but got \"many\"",
        ),
        ('"cuda_tile.adi"(%a, %b) : (!T, !T) -> !T', "unknown operation: cuda_tile.adi; did you mean"),
    ],
)
def test_invalid_operation_is_refused(operation: str, message: str) -> None:
    with pytest.raises(TilecError) as caught:
        Module.parse(kernel(INTEGERS, f"%0 = {operation.replace('!T', INTEGERS['%a'])}"), "g.mlir")
    assert message in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.line == 5


def test_padding_that_could_be_a_mask_is_printed_in_generic_form() -> None:
    text = """cuda_tile.module @kernels {
  entry @k(%arg0: tile<i64>) {
    %true = constant <i1: true> : tile<i1>
    %0 = make_token : token
    %1 = int_to_ptr %arg0 : tile<i64> -> tile<ptr<i1>>
    %result, %result_token = "cuda_tile.load_ptr_tko"(%1, %true, %0) <{memory_ordering_semantics = 0 : i32, \
operandSegmentSizes = array<i32: 1, 0, 1, 1>}> {my.fact} : (!cuda_tile.tile<ptr<i1>>, !cuda_tile.tile<i1>, \
!cuda_tile.token) -> (!cuda_tile.tile<i1>, !cuda_tile.token)
    %2 = join_tokens %result_token, %0 : token
    return
  }
}
"""
    module = Module.parse(text)
    assert module.to_text() == text
    assert Module.parse(module.to_text(generic=True)).to_text() == text
    assert Module.parse(module.to_text(generic="nvidia")).to_text() == text


def test_shape_query_without_results_is_printed_in_generic_form() -> None:
    text = """cuda_tile.module @kernels {
  entry @k(%arg0: tile<ptr<f32>>) {
    %tview = make_tensor_view %arg0, shape = [], strides = [] : tensor_view<f32>
    "cuda_tile.get_tensor_shape"(%tview) : (!cuda_tile.tensor_view<f32>) -> ()
    return
  }
}
"""
    assert Module.parse(text).to_text() == text


@pytest.mark.parametrize(
    "entry",
    [
        "entry @k() optimization_hints=<> {\n    return\n  }",
        "entry @k(%arg0: tile<i32>) {\n    return\n  } {arg_attrs = [{}]}",
        "entry @k() {\n    return\n  } {arg_attrs = [], res_attrs = []}",
        "entry @k(%arg0: tile<i32>, %arg1: tile<i32> {cuda_tile.x}) {\n    return\n  } {my.fact, res_attrs = []}",
    ],
)
def test_empty_attributes_of_kernels_are_preserved(entry: str) -> None:
    text = f"cuda_tile.module @kernels {{\n  {entry}\n}}\n"
    module = Module.parse(text)
    assert module.to_text() == text
    assert Module.parse(module.to_text(generic="nvidia")).to_text() == text
