"""Module reads assembly, generic forms and bytecode; invalid input is refused with its location."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from tilec.dialect.fields import MANY_RUNS
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError, VerificationError
from tilec.text_input.module import Module

KERNEL = """cuda_tile.module @kernels {
  entry @copy(%arg0: tile<ptr<f32>>) {
    %result, %result_token = load_ptr_tko weak %arg0 : tile<ptr<f32>> -> tile<f32>, token
    %0 = store_ptr_tko weak %arg0, %result token=%result_token : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""


def test_entries_in_order() -> None:
    text = "cuda_tile.module @m { entry @first() { } global @g <i32: 1> : tile<1xi32> entry @second() { return } }"
    assert Module.parse(text).entries == ["first", "second"]


def test_prefixes_aliases_and_an_enclosing_module_are_optional() -> None:
    text = """
    !scalar = !cuda_tile.tile<f32>
    builtin.module { cuda_tile.module @kernels {
      cuda_tile.entry @copy(%p: !cuda_tile.tile<!cuda_tile.ptr<f32>>) {  // with prefixes
        %v, %t = cuda_tile.load_ptr_tko weak %p : tile<ptr<f32>> -> !scalar, !cuda_tile.token
        %u = cuda_tile.store_ptr_tko weak %p, %v token = %t : tile<ptr<f32>>, !scalar -> token
      }
    } }"""
    assert Module.parse(text).to_text() == KERNEL


def test_generic_form_of_other_tools() -> None:
    text = """
    "cuda_tile.module"() <{sym_name = "kernels"}> ({
      "cuda_tile.entry"() <{function_type = (!cuda_tile.tile<ptr<f32>>) -> (), sym_name = "copy"}> ({
      ^bb0(%arg0: !cuda_tile.tile<ptr<f32>>):
        %0:2 = "cuda_tile.load_ptr_tko"(%arg0)
          <{memory_ordering_semantics = 0 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
          : (!cuda_tile.tile<ptr<f32>>) -> (!cuda_tile.tile<f32>, !cuda_tile.token)
        %1 = "cuda_tile.store_ptr_tko"(%arg0, %0#0, %0#1)
          <{memory_ordering_semantics = 0 : i32, operandSegmentSizes = array<i32: 1, 1, 0, 1>}>
          : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<f32>, !cuda_tile.token) -> !cuda_tile.token
        "cuda_tile.return"() : () -> ()
      }) : () -> ()
    }) : () -> ()"""
    assert Module.parse(text).to_text() == KERNEL


def test_generic_enumerations_and_loops_of_other_tools() -> None:
    text = """
    "cuda_tile.module"() <{sym_name = "kernels"}> ({
      "cuda_tile.entry"() <{function_type = (!cuda_tile.tile<i32>) -> (), sym_name = "k"}> ({
      ^bb0(%n: !cuda_tile.tile<i32>):
        %0 = "cuda_tile.for"(%n, %n, %n, %n) ({
        ^bb0(%i: !cuda_tile.tile<i32>, %a: !cuda_tile.tile<i32>):
          %1 = "cuda_tile.divi"(%a, %i)
            <{rounding = #cuda_tile.rounding<zero>, signedness = #cuda_tile.signedness<signed>}>
            : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>
          "cuda_tile.continue"(%1) : (!cuda_tile.tile<i32>) -> ()
        }) : (!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>)
          -> !cuda_tile.tile<i32>
        "cuda_tile.return"() : () -> ()
      }) : () -> ()
    }) : () -> ()"""
    assert "%0 = divi %iterArg0, %loopIdx signed : tile<i32>" in Module.parse(text).to_text()


def test_debug_info_becomes_locations() -> None:
    text = """
    #file = #cuda_tile.di_file<"k.py" in "/src">
    #unit = #cuda_tile.di_compile_unit<file = #file>
    #kern = #cuda_tile.di_subprogram<file = #file, line = 3, name = "k", linkageName = "k", compileUnit = #unit>
    #line = #cuda_tile.di_loc<loc("/src/k.py":6:7) in #kern>
    cuda_tile.module @m { entry @k() { %0 = make_token : token loc(#line) return loc("a.py":1:2) } loc(#line) }"""
    module = Module.parse(text)
    (entry,) = module.ir.body.operations
    token, last = entry.body.blocks[0].operations
    assert '"/src/k.py":6:7' in str(token.location)
    with context():
        assert last.location == ir.Location.file("a.py", 1, 2)


def test_every_operation_has_its_location() -> None:
    module = Module.parse(KERNEL, "copy.mlir")
    (entry,) = module.ir.body.operations
    locations = [str(op.location) for op in entry.body.blocks[0].operations]
    assert locations == ['loc("copy.mlir":3:30)', 'loc("copy.mlir":4:10)', 'loc("copy.mlir":5:5)']


def test_bytecode_is_read() -> None:
    module = Module.parse(KERNEL)
    assert Module.parse(module.to_bytecode(), "k.tileirbc").to_text() == module.to_text()


def test_invalid_bytecode_is_refused_at_its_offset() -> None:
    with pytest.raises(InputError, match="k.tileirbc: error: byte 10 .header.: expected 2 bytes"):
        Module.parse(b"\x7fTileIR\x00\x0d\x01", "k.tileirbc")


def test_binary_data_is_refused() -> None:
    with pytest.raises(InputError, match="neither text nor Tile IR bytecode: invalid UTF-8 at offset 0"):
        Module.parse(b"\xff\xfe", "k.bin")
    with pytest.raises(InputError, match="neither text nor Tile IR bytecode: NUL byte at offset 6"):
        Module.parse(b"TileIR\0\r\1", "k.bin")


def test_byte_order_mark_is_ignored() -> None:
    assert Module.parse("\ufeff".encode() + KERNEL.encode()).to_text() == KERNEL


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read .*none.mlir: No such file or directory"):
        Module.read(tmp_path / "none.mlir")


def test_error_shows_location_and_excerpt() -> None:
    with pytest.raises(InputError) as caught:
        Module.parse("cuda_tile.module @m {\n  entry @k(%a: tile<3xf32>) { }\n}", "<text>")
    assert str(caught.value) == (
        "<text>:2:16: error: all dimensions must be powers of two, got [3]\n"
        "      entry @k(%a: tile<3xf32>) { }\n"
        "                   ^"
    )


def test_generic_text_is_verified_with_locations() -> None:
    generic = (
        Module.parse(KERNEL)
        .to_text(generic=True)
        .replace('memory_ordering_semantics = "weak"', 'memory_ordering_semantics = "no"')
    )
    with pytest.raises(VerificationError, match="'memory_ordering_semantics' must be one of: weak, relaxed") as caught:
        Module.parse(generic, "generic.mlir")
    assert caught.value.location is not None
    assert caught.value.location.file == "generic.mlir"


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("!cuda_tile.tile<array<i64: 3>, f32>", "all dimensions must be powers of two, got [3]"),
        ("!cuda_tile.tile<array<i64>, index>", "tile element must be a number type or a pointer, but got 'index'"),
        ("!cuda_tile.tile<f32, array<i64>>", "malformed type"),
        ("!cuda_tile.tile<array<i64>, !cuda_tile.ptr<i4, unit>>", "pointee must be a number type, but got 'i4'"),
        (
            "!cuda_tile.tensor_view<array<i64: 4>, f32, array<i64>, unit>",
            "expected shape and stride to be of same rank",
        ),
    ],
)
def test_types_of_generic_text_are_checked(type: str, message: str) -> None:
    text = f"""
    "builtin.module"() ({{ "cuda_tile.entry"() ({{
      ^bb0(%a: !cuda_tile.tile<array<i64>, i32>):
        %0 = "cuda_tile.reshape"(%a) : (!cuda_tile.tile<array<i64>, i32>) -> {type}
        "cuda_tile.return"() {{operandSegmentSizes = array<i32: {", ".join(["0"] * MANY_RUNS)}>}} : () -> ()
    }}) {{sym_name = "k", function_type = (!cuda_tile.tile<array<i64>, i32>) -> ()}} : () -> () }}) : () -> ()"""
    with pytest.raises(VerificationError, match="result #0 has an invalid type") as caught:
        Module.parse(text)
    assert message in caught.value.message


def test_duplicate_symbols_are_refused() -> None:
    with pytest.raises(VerificationError, match="redefinition of symbol named 'k'"):
        Module.parse("cuda_tile.module @m { entry @k() { } entry @k() { } }")


def test_values_of_another_kernel_are_not_visible() -> None:
    with pytest.raises(InputError, match="use of undeclared SSA value name '%a'"):
        Module.parse("cuda_tile.module @m { entry @k(%a: tile<i32>) { } entry @l() { %0 = absi %a : tile<i32> } }")


@pytest.mark.parametrize("cut", range(0, len(KERNEL) - 4, 7))
def test_truncated_text_is_refused(cut: int) -> None:
    with pytest.raises((InputError, VerificationError)):
        Module.parse(KERNEL[:cut])


def test_text_that_ends_within_an_operation() -> None:
    with pytest.raises(InputError, match="unexpected end of the text") as caught:
        Module.parse("entry @k(%n: tile<i32>) {\n%0 = assume", "k.mlir")
    assert str(caught.value.location) == "k.mlir:2:12"


def test_operations_after_a_terminator_are_refused_in_generic_form() -> None:
    text = """
    "cuda_tile.module"() <{sym_name = "m"}> ({
      "cuda_tile.entry"() <{function_type = () -> (), sym_name = "k"}> ({
        "cuda_tile.return"() : () -> ()
        "cuda_tile.return"() : () -> ()
      }) : () -> ()
    }) : () -> ()"""
    with pytest.raises(InputError, match="expected '}' after 'cuda_tile.return', which ends its block"):
        Module.parse(text)


def test_second_block_is_refused() -> None:
    text = """
    "cuda_tile.module"() <{sym_name = "m"}> ({
      "cuda_tile.entry"() <{function_type = () -> (), sym_name = "k"}> ({
        ^bb0:
          %0 = "cuda_tile.make_token"() : () -> !cuda_tile.token
        ^bb1:
          "cuda_tile.return"() : () -> ()
      }) : () -> ()
    }) : () -> ()"""
    with pytest.raises(InputError, match="expected an operation, but got '\\^bb1'"):
        Module.parse(text)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("entry @k(%a: tile<4xf32>) { }", "argument #0 must be a 0-d tile, but got 'tile<4xf32>'"),
        ("entry @k(%a: token) { }", "argument #0 must be a 0-d tile, but got 'token'"),
        ("entry @k() -> tile<f32> { }", "entry must not have results, but has (tile<f32>)"),
        ("entry @k(%a: tile<f32>, tile<f32>) { }", "expected all arguments of the entry to be named, or none"),
        ("global @g <f32: 1.0> : tile<f32>", "type of value must have rank 1, but got rank 0"),
        ("global @g alignment = 3 <f32: 1.0> : tile<4xf32>", "alignment must be zero or a power of two, but got 3"),
        ("entry @k() { %0 = get_global @g : tile<ptr<f32>> }", "'g' does not name a global of the module"),
        (
            "global @g <i32: 1> : tile<4xi32> entry @k() { %0 = get_global @g : tile<ptr<f32>> }",
            "expects a pointer to i32, the element of 'g', but got 'tile<ptr<f32>>'",
        ),
        (
            "entry @k() { } {res_attrs = [{}]}",
            "must not have result attributes, because it has no results",
        ),
        (
            "entry @k(%a: tile<i1> {f = 1 : i32}) { }",
            "argument #0 may only have attributes of a dialect (`dialect.name`), but has 'f'",
        ),
        ("global @g <f32: [[1.0]]> : tile<1x1xf32>", "type of value must have rank 1, but got rank 2"),
        ("entry @k() { } global @k <f32: 1.0> : tile<1xf32>", "redefinition of symbol named 'k'"),
        (
            "entry @k() { } entry @j() { %0 = get_global @k : tile<ptr<f32>> }",
            "'k' does not name a global of the module",
        ),
        ("absi", "expected entry or global, but got 'absi'"),
        (
            "testing$func @f() { }",
            "expected entry or global, but got 'testing$func'; testing$func exists only in NVIDIA's own test builds",
        ),
        ("preview$func @f() { }", "but got 'preview$func'; preview$func is of NVIDIA's preview"),
        ("entry k() { }", "expected a symbol name (@name), but got 'k'"),
    ],
)
def test_items_of_a_module_are_checked(item: str, message: str) -> None:
    with pytest.raises((InputError, VerificationError)) as caught:
        Module.parse(f"cuda_tile.module @m {{ {item} }}")
    assert message in caught.value.message


@pytest.mark.parametrize(
    "location",
    [
        "unknown",
        '"k.py":3:4',
        '"name"',
        '"name"("k.py":3:4)',
        'callsite("helper.py":9:2 at "k.py":3:4)',
        'fused["k.py":3:4, "k.py":5:6]',
        'fused<"why">["k.py":3:4, "k.py":5:6]',
        'callsite(callsite("a.py":1:1 at "b.py":2:2) at "k.py":3:4)',
    ],
)
def test_locations_of_mlir(location: str) -> None:
    text = f"cuda_tile.module @m {{ entry @k() {{ %0 = make_token : token loc({location}) return }} }}"
    module = Module.parse(text)
    token = module.ir.body.operations[0].body.blocks[0].operations[0]
    assert str(token.location) == f"loc({location})"
    again = Module.parse(module.to_text(locations=True))
    assert str(again.ir.body.operations[0].body.blocks[0].operations[0].location) == f"loc({location})"


@pytest.mark.parametrize(
    "attribute",
    [
        "1 : i64",
        "-3 : i8",
        "2.500000e+00 : f64",
        "true",
        '"te\\22xt"',
        "[1 : i32, unit]",
        "{a = 1 : i64}",
        "array<i32: 1, 2>",
        "dense<[1, 2]> : tensor<2xi32>",
        "f32",
        "@symbol",
    ],
)
def test_attributes_of_mlir(attribute: str) -> None:
    module = Module.parse(f"cuda_tile.module @m {{ entry @k() {{ }} {{my.fact = {attribute}}} }}")
    assert str(module.ir.body.operations[0].attributes["my.fact"]) == attribute
    assert Module.parse(module.to_text()).to_text() == module.to_text()


def test_names_that_are_not_identifiers_are_quoted() -> None:
    text = 'cuda_tile.module @"a b" { entry @"k\\22<1>"() { return } {"my.odd key" = 1 : i32} }'
    module = Module.parse(text)
    assert module.entries == ['k"<1>']
    assert Module.parse(module.to_text()).to_text() == module.to_text()
    assert 'entry @"k\\22<1>"()' in module.to_text()
    assert '{"my.odd key" = 1 : i32}' in module.to_text()


def test_pow_of_version_13_3_is_read_as_fpowf() -> None:
    powers = "%0 = pow %a, %a : tile<f32> %1 = cuda_tile.pow %0, %a : tile<f32>"
    text = f"cuda_tile.module @m {{ entry @k(%a: tile<f32>) {{ {powers} }} }}"
    assert "%1 = fpowf %0, %arg0 : tile<f32>" in Module.parse(text).to_text()


@pytest.mark.parametrize("end", ["// a comment", "// a comment\n", " \n\t" * 40, " \n" * 5000 + "// the end"])
def test_trailing_blanks_and_comments(end: str) -> None:
    assert Module.parse(KERNEL + end).to_text() == KERNEL


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("module {", "}"),
        ("module @m {", "}"),
        ("module attributes {my.fact = 1 : i32} {", "}"),
        ("builtin.module @m attributes {my.fact} {", "}"),
        ('"builtin.module"() ({', "}) : () -> ()"),
        ('"builtin.module"() <{sym_name = "m"}> ({', "}) : () -> ()"),
    ],
)
def test_enclosing_module_is_ignored(opening: str, closing: str) -> None:
    assert Module.parse(f"{opening}\n{KERNEL}\n{closing}").to_text() == KERNEL


def test_second_module_is_refused() -> None:
    with pytest.raises(InputError, match="expected one cuda_tile.module, but a second one follows"):
        Module.parse(KERNEL + KERNEL)


def test_operation_outside_a_module_is_refused() -> None:
    with pytest.raises(InputError, match="<string>:2:1: error: expected 'cuda_tile.module', but got '%0'"):
        Module.parse("// lonely\n%0 = cuda_tile.iota : !cuda_tile.tile<8xi32>")


@pytest.mark.parametrize("enabled", [True, False])
def test_reading_restores_the_garbage_collector(enabled: bool) -> None:
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        Module.parse("cuda_tile.module @m { entry @k() { return } }")
        with pytest.raises(InputError):
            Module.parse("cuda_tile.module @m {")
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
