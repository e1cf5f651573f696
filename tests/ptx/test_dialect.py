"""Verification errors of the ptx dialect, and what passes may change in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tilec.dialect.mlir import ir, passmanager
from tilec.dialect.ptx.builder import PtxBuilder, entry, function, shared_attribute, variable


def verification_errors(module: ir.Operation) -> str:
    """The messages of the diagnostics of a module that does not verify."""
    with pytest.raises(ir.MLIRError) as caught:
        module.verify()
    return "\n".join(diagnostic.message for diagnostic in caught.value.error_diagnostics)


def constant(b: PtxBuilder, kind: ir.Type) -> ir.Value:
    return b.execute("undefined $0;", kind)


@pytest.mark.parametrize(
    ("text", "results", "operands", "tied", "message"),
    [
        ("add.s32 $0, $1, $2;", ["i32"], ["i32"], None, "names $2, but has 1 results and 1 operands"),
        ("add.s32 $0, $1, 4;", ["i32"], ["i32", "i32"], None, "does not name $2"),
        ("add.s32 $0, $1, 4;", ["f32"], ["i32"], None, "has $0 of type f32, which .s32 cannot take"),
        ("add.s64 $0, $1, 4;", ["i64"], ["i32"], None, "has $1 of type i32, which .s64 cannot take"),
        ("@$1 and.b32 $0, $2, $3;", ["i32"], ["i1", "i32", "f64"], None, "has $3 of type f64, which .b32 cannot take"),
        ("fma.rn.ftz.f32 $0, $1, $1, $2;", ["f32"], ["f32", "i64"], None, "has $2 of type i64"),
        ("add.s32 $0, $0, 1;", ["i32"], ["i32"], [1], "ties result 0 to operand 1, but has 1 operands"),
        ("add.s32 $0, $0, 1;", ["i32"], ["i64"], [0], "ties result 0 of type i32 to operand 0 of type i64"),
        ("add.s32 $0, $0, 1;", ["i32"], ["i32"], [0, 0], "ties 2 results, but has 1"),
        ("mov.b64 {$0, $1}, 1;", ["i32", "i32"], ["i32"], [0, 0], "ties two results to one operand"),
        ("mov.b8 $0, 1;", ["i8"], [], None, "has a value of type i8, but registers are i1, i16, i32, i64, i128, f32"),
    ],
)
def test_instruction_text_must_match_its_values(
    b: PtxBuilder, text: str, results: list[str], operands: list[str], tied: Sequence[int] | None, message: str
) -> None:
    values = [constant(b, ir.Type.parse(kind)) for kind in operands]
    b.execute(text, [ir.Type.parse(kind) for kind in results], *values, tied=tied)
    b.leave()
    assert message in verification_errors(b.entry.parent)


@pytest.mark.parametrize(
    ("text", "results", "operands"),
    [
        ("add.f32 $0, $1, $2;", ["i32"], ["f32", "i32"]),
        ("add.rn.f16x2 $0, $1, $1;", ["i32"], ["i32"]),
        ("mul.wide.s32 $0, $1, $1;", ["i64"], ["i32"]),
        ("and.b32 $0, $1, $1;", ["f32"], ["i32"]),
        ("setp.lt.s32 $0, $1, 4;", ["i1"], ["i32"]),
        ("shl.b64 $0, $1, $2;", ["i64"], ["i64", "i32"]),
        ("cvt.rn.f32.s32 $0, $1;", ["f32"], ["i32"]),
        ("setp.ge.and.s32 $0, $1, 0, $2;", ["i1"], ["i32", "i1"]),
        ("atom.global.add.u32 $0, [$1], 1;", ["i32"], ["i64"]),
    ],
)
def test_legal_combinations_of_types(b: PtxBuilder, text: str, results: list[str], operands: list[str]) -> None:
    values = [constant(b, ir.Type.parse(kind)) for kind in operands]
    b.execute(text, [ir.Type.parse(kind) for kind in results], *values)
    b.leave()
    assert b.entry.parent.verify()


def test_tied_values_need_not_occur_in_the_text(b: PtxBuilder) -> None:
    values = [constant(b, b.i32) for _ in range(2)]
    b.execute("tcgen05.wait::ld.sync.aligned;", [b.i32] * 2, *values, tied=[0, 1])
    b.leave()
    assert b.entry.parent.verify()


def test_too_many_operands_of_mixed_types(b: PtxBuilder) -> None:
    values = [constant(b, kind) for _ in range(9) for kind in (b.i32, b.i64)]
    with pytest.raises(ValueError, match="an instruction takes 8 values of any types before and after a run of one"):
        b.execute("x;", (), *values)


def test_text_is_required(b: PtxBuilder) -> None:
    ir.Operation.create("ptx.execute_0_0", ip=ir.InsertionPoint(b.current))
    b.leave()
    assert "needs a string attribute 'text'" in verification_errors(b.entry.parent)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threads": [128, 0, 1]}, "needs three positive numbers in 'threads', got [128, 0, 1]"),
        ({"parameters": [("a", "u64"), ("a", "u32")]}, "has 'a' twice in 'parameters'"),
        ({"parameters": [("a", "pointer")]}, "has a parameter of type 'pointer', expected one of"),
        ({"parameters": [("1a", "u64")]}, "has '1a' in 'parameters', which is not a PTX identifier"),
        ({"cluster": [2, 0]}, "needs three positive numbers in 'cluster'"),
    ],
)
def test_invalid_attributes_of_an_entry(module: ir.Module, change: dict, message: str) -> None:
    made = entry(module, **{"name": "kernel", "target": "sm_90a", "threads": [128], **change})
    PtxBuilder(made).leave()
    assert message in verification_errors(module.operation)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("threads", "[128 : i32]", "needs an array of i32 'threads'"),
        ("cluster", "[2 : i32]", "needs an array of i32 'cluster', got [2 : i32]"),
        ("parameters", "[1 : i32]", "needs dictionaries in 'parameters', got 1 : i32"),
        ("parameters", '[{name = "a"}]', "needs 'type' in each entry of 'parameters', got {name = \"a\"}"),
        ("sym_name", '"1k"', "has the name '1k', which is not a PTX identifier"),
    ],
)
def test_malformed_attributes_of_an_entry(b: PtxBuilder, name: str, value: str, message: str) -> None:
    b.leave()
    b.entry.attributes[name] = ir.Attribute.parse(value, context=b.entry.context)
    assert message in verification_errors(b.entry.parent)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ("", "has no body"),
        ('^bb0(%a: i32): "ptx.return"() : () -> ()', "has arguments in its first block, but parameters are read by"),
    ],
)
def test_malformed_bodies_of_an_entry(b: PtxBuilder, blocks: str, message: str) -> None:
    b.leave()
    head = ", ".join(f"{name} = {b.entry.attributes[name]}" for name in b.entry.attributes)
    with pytest.raises(ir.MLIRError) as caught:
        ir.Module.parse(f'"ptx.entry"() ({{{blocks}}}) {{{head}}} : () -> ()', context=b.entry.context)
    assert message in "\n".join(diagnostic.message for diagnostic in caught.value.error_diagnostics)


def test_tied_operands_are_numbers(b: PtxBuilder) -> None:
    op = b.execute("add.s32 $0, $1, 1;", b.i32, constant(b, b.i32)).owner
    op.attributes["tied"] = ir.StringAttr.get("0", context=b.entry.context)
    b.leave()
    assert "needs 'tied' as an array of i32, got \"0\"" in verification_errors(b.entry.parent)


def buffer(name: str, size: int, alignment: int = 16, dynamic: bool = False) -> dict:
    return {"name": name, "bytes": size, "alignment": alignment, "dynamic": dynamic}


@pytest.mark.parametrize(
    ("buffers", "message"),
    [
        ([buffer("a", 40000), buffer("b", 9153)], "has 49153 bytes of static shared memory, but only 49152 can be"),
        ([buffer("a", 8, dynamic=True), buffer("b", 8, dynamic=True)], "has two dynamic buffers in 'shared'"),
        ([buffer("a", 8, alignment=24)], "has shared 'a' aligned to 24, expected a power of two"),
    ],
)
def test_invalid_shared_memory(b: PtxBuilder, buffers: list[dict], message: str) -> None:
    b.entry.attributes["shared"] = shared_attribute(buffers)
    b.leave()
    assert message in verification_errors(b.entry.parent)


def test_static_shared_memory_up_to_the_limit(b: PtxBuilder) -> None:
    b.entry.attributes["shared"] = shared_attribute([buffer("a", 49152), buffer("b", 100000, dynamic=True)])
    b.leave()
    assert b.entry.parent.verify()


def test_block_must_have_a_terminator(b: PtxBuilder) -> None:
    b.execute("bar.sync 0;")
    assert "does not end in cf.br, cf.cond_br, ptx.return" in verification_errors(b.entry.parent)


def test_function_text_must_declare_its_name(b: PtxBuilder, module: ir.Module) -> None:
    b.leave()
    function(module, "tilec_expf", ".func (.reg .f32 y) tilec_exp (.reg .f32 x) { ret; }")
    assert "has no .func tilec_expf in its text" in verification_errors(b.entry.parent)


def test_variable_text_must_declare_its_name(b: PtxBuilder) -> None:
    b.leave()
    variable(b.entry.parent.opview, "text", ".global .align 1 .b8 texts[2] = {97, 0};")
    assert "has no .global text in its text" in verification_errors(b.entry.parent)


def test_entry_is_isolated_from_above(b: PtxBuilder, module: ir.Module) -> None:
    other = entry(module, "other", target="sm_90a", threads=[128])
    b.execute("st.local.b32 [0], $0;", (), PtxBuilder(other).compute("mov.b32 $0, 1;", b.i32))
    b.leave()
    PtxBuilder(other).leave()
    assert "using value defined outside the region" in verification_errors(module.operation)


def test_passes_merge_equal_computations_and_erase_unused_ones(b: PtxBuilder, lines: Callable[[], list[str]]) -> None:
    first = b.compute("mov.u32 $0, %tid.x;", b.i32)
    second = b.compute("mov.u32 $0, %tid.x;", b.i32)
    b.compute("add.s32 $0, $1, 1;", b.i32, first)
    b.execute("st.local.v2.b32 [0], {$0, $1};", (), first, second)
    b.leave()
    passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(b.entry.parent)
    assert lines() == ["mov.u32 %r1, %tid.x;", "st.local.v2.b32 [0], {%r1, %r1};", "ret;"]


def test_passes_neither_merge_nor_erase_operations_with_effects(b: PtxBuilder, lines: Callable[[], list[str]]) -> None:
    for _ in range(2):
        b.execute("atom.shared.add.u32 $0, [0], 1;", b.i32)
    b.execute("membar.cta;")
    b.leave()
    passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(b.entry.parent)
    assert [line.split()[0] for line in lines()] == [*["atom.shared.add.u32"] * 2, "membar.cta;", "ret;"]
