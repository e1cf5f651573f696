"""Operations of tilex on floats of 4 to 8 bits: assembly, refusals, and what bytecode cannot hold."""

from __future__ import annotations

import pytest

from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import read_module
from tilec.dialect.bytecode.version import NEWEST
from tilec.dialect.bytecode.writing.type_table import TypeTable
from tilec.dialect.bytecode.writing.version_gate import VersionGate
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError
from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate

PARAMETERS = "%p: tile<ptr<i8>>"
CODES = """    %x, %k = load_ptr_tko weak %p : tile<ptr<i8>> -> tile<i8>, token
    %y = reshape %x : tile<i8> -> tile<1x1xi8>
    %c = broadcast %y : tile<1x1xi8> -> tile<16x32xi8>
    %d = broadcast %y : tile<1x1xi8> -> tile<32x16xi8>
    %acc = constant <f32: 0.0> : tile<16x16xf32>
    %six = tilex.bitcast %c : tile<16x32xi8> -> tile<16x32xf6E3M2FN>
    %four = tilex.bitcast %d : tile<32x16xi8> -> tile<32x16xf4E2M1FN>
    %wide = tilex.ftof %six : tile<16x32xf6E3M2FN> -> tile<16x32xf32>
    %s = constant <f8E8M0FNU: 1.0> : tile<16x1xf8E8M0FNU>
    %t = constant <f8E8M0FNU: 1.0> : tile<1x16xf8E8M0FNU>
"""
MULTIPLY = "    %r = tilex.mmaf %six, %four, %acc : tile<16x32xf6E3M2FN>, tile<32x16xf4E2M1FN>, tile<16x16xf32>\n"
SCALED = (
    "    %r = tilex.mmaf_scaled %six, %four, %acc, %s, %t : tile<16x32xf6E3M2FN>, tile<32x16xf4E2M1FN>, "
    "tile<16x16xf32>, tile<16x1xf8E8M0FNU>, tile<1x16xf8E8M0FNU>\n"
)


def module_with(body: str) -> str:
    return f"cuda_tile.module @m {{\n  entry @k({PARAMETERS}) {{\n{body}    return\n  }}\n}}\n"


def read(text: str) -> ir.Module:
    module = read_module(text, "kernel.mlir")
    with context():
        module.operation.verify()
    return module


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("multiply", [MULTIPLY, SCALED, MULTIPLY.replace("%acc :", "%acc fast_acc :")])
def test_round_trip(generic: bool, multiply: str) -> None:
    first = print_module(read(module_with(CODES + multiply)), generic=generic)
    assert "f6E3M2FN" in first
    assert print_module(read(first), generic=generic) == first


REFUSED = {
    "a float of 16 bits": (
        MULTIPLY.replace("%six", "%half").replace("f6E3M2FN", "f16"),
        "op operand #0 must be tile of f8E4M3FN or f8E5M2 or f6E2M3FN or f6E3M2FN or f4E2M1FN values",
    ),
    "an accumulator of f64": (
        MULTIPLY.replace("%acc", "%double").replace("xf32>", "xf64>"),
        "must be tile of f16 or f32 values",
    ),
    "another depth": (
        MULTIPLY.replace("%four", "%square").replace("32x16xf4E2M1FN", "16x16xf4E2M1FN"),
        "expects dim 1 of lhs (32) to equal dim 0 of rhs (16)",
    ),
    "factors of 16 elements": (
        SCALED.replace("%s,", "%s2,").replace("16x1xf8E8M0FNU", "16x2xf8E8M0FNU"),
        "expects 32 elements of lhs to share a scale",
    ),
    "a bitcast of floats": (
        "    %r = tilex.bitcast %six : tile<16x32xf6E3M2FN> -> tile<16x32xf4E2M1FN>\n",
        "expects i8 and one of",
    ),
    "a conversion that Tile IR has": (
        "    %r = tilex.ftof %wide : tile<16x32xf32> -> tile<16x32xf8E5M2>\n",
        "expects one of f6E2M3FN or f6E3M2FN and another float, but got f32 and f8E5M2",
    ),
    "a rounding toward zero": (
        "    %r = tilex.ftof %wide rounding<zero> : tile<16x32xf32> -> tile<16x32xf6E2M3FN>\n",
        "rounding mode must be nearest_even, but got: zero",
    ),
    "arithmetic": (
        "    %r = addf %six, %six : tile<16x32xf6E3M2FN>\n",
        "must be tile of f16 or bf16 or f32 or f64 values, but got 'tile<16x32xf6E3M2FN>'",
    ),
}
OTHERS = """    %half = constant <f16: 0.0> : tile<16x32xf16>
    %double = constant <f64: 0.0> : tile<16x16xf64>
    %square = tilex.bitcast %sixteen : tile<16x16xi8> -> tile<16x16xf4E2M1FN>
    %s2 = constant <f8E8M0FNU: 1.0> : tile<16x2xf8E8M0FNU>
"""


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    body, message = REFUSED[name]
    others = "    %sixteen = broadcast %y : tile<1x1xi8> -> tile<16x16xi8>\n" + OTHERS
    with pytest.raises(ir.MLIRError) as refusal:
        read(module_with(CODES + others + body))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("parameter", "problem"),
    [
        ("tile<ptr<f6E2M3FN>>", "pointee must be a number type, but got 'f6E2M3FN'"),
        (
            "tile<f6E2M3FN>",
            "must be a number of Tile IR, which has no f6E2M3FN: use f8E4M3FN, which has all of its values",
        ),
    ],
)
def test_arguments_have_types_of_tile_ir(parameter: str, problem: str) -> None:
    text = f"cuda_tile.module @m {{\n  entry @k(%p: {parameter}) {{\n    return\n  }}\n}}\n"
    with pytest.raises((InputError, ir.MLIRError)) as refusal:
        read(text)
    assert problem in str(refusal.value)


def test_views_have_types_of_tile_ir() -> None:
    view = "tensor_view<4x4xf6E2M3FN, strides=[4,1]>"
    with pytest.raises(InputError, match="tensor_view element must be a number type, but got 'f6E2M3FN'"):
        read(module_with(f"    %t = make_tensor_view %p, shape = [4, 4], strides = [4, 1] : {view}\n"))


def test_constants_have_types_of_tile_ir() -> None:
    with pytest.raises(InputError, match="expect element type to be one of .*, but got 'f6E2M3FN'"):
        read(module_with("    %r = constant <f6E2M3FN: 1.0> : tile<4xf6E2M3FN>\n"))


SIX_BITS = "Tile IR has no floats of 6 bits: use f8E4M3FN, which has all of their values"


def test_bytecode_has_no_six_bits() -> None:
    module = read(module_with(CODES))
    with pytest.raises(InputError) as refusal:
        write_module(module)
    assert (
        f"'tilex.bitcast' cannot be encoded in bytecode, which supports only operations of Tile IR: {SIX_BITS}"
        in str(refusal.value)
    )


def test_bytecode_has_no_type_of_six_bits() -> None:
    """A branch that is not written names the type before any operation of tilex."""
    table = TypeTable(VersionGate(NEWEST))
    with context(), pytest.raises(InputError, match=f"'f6E2M3FN' has no form in bytecode: {SIX_BITS}"):
        table.index(ir.Float6E2M3FNType.get())


def test_mixed_multiply_is_expanded_to_tile_ir() -> None:
    """tilex.mmaf of e4m3 and e5m2 becomes mmaf of f16, which bytecode holds."""
    text = module_with(
        """    %a = constant <f8E4M3FN: 2.0> : tile<16x32xf8E4M3FN>
    %b = constant <f8E5M2: 3.0> : tile<32x16xf8E5M2>
    %acc = constant <f32: 0.0> : tile<16x16xf32>
    %s = constant <f8E8M0FNU: 1.0> : tile<16x1xf8E8M0FNU>
    %t = constant <f8E8M0FNU: 1.0> : tile<1x16xf8E8M0FNU>
    %r = tilex.mmaf %a, %b, %acc fast_acc : tile<16x32xf8E4M3FN>, tile<32x16xf8E5M2>, tile<16x16xf32>
    %q = tilex.mmaf_scaled %a, %b, %r, %s, %t : tile<16x32xf8E4M3FN>, tile<32x16xf8E5M2>, tile<16x16xf32>,
      tile<16x1xf8E8M0FNU>, tile<1x16xf8E8M0FNU>
    %u = print_tko "%f", %q : tile<16x16xf32> -> token
"""
    )
    module = read(text)
    with pytest.raises(InputError, match="rewrite the module by 'tilec opt --passes expand-tilex'"):
        write_module(module)
    with context():
        run(module, ("expand-tilex",), evaluate=evaluate)
    printed = print_module(module)
    assert "tilex." not in printed
    assert "mmaf" in printed
    write_module(module)
