"""The parser accepts what compilers emit, reports errors with line and column, and never crashes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
ENTRY = HEAD + (
    ".visible .entry k(.param .u64 p0)\n{{\n.reg .b32 %r<8>; .reg .b64 %rd<4>; "
    ".reg .pred %p<4>; .reg .f32 %f<4>;\n{}\nret;\n}}\n"
)
BODY_LINE = 7

DEBUG = """
.version 8.8
.target sm_100a, debug
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 format, .param .b64 values);
.weak .func nothing() .noreturn ;
.visible .entry k(
    .param .u64 .ptr .global .align 16 p0,   // comment
    .param .align 64 .b8 p1[128]
)
.maxntid 128, 1, 1
.minnctapersm 2
.maxnreg 64
.reqnctapercluster 2, 1, 1
.explicitcluster
{
    .pragma "nounroll";
    .reg .b32   %r<3>;
$L__func_begin0:
    .loc 1 7 3, function_name $L__info_string0, inlined_at 1 3 4
    /* a comment
       over lines */ mov.b32 %r1, WARP_SZ;
    // begin inline asm
    { .reg .b32 %r9; mov.b32 %r9, 1+2*3; add.u32 %r1, %r1, %r9; }
    // end inline asm
    ret;
$L__func_end0:
}
.file 1 "kernel.cu"
.section .debug_str { $L__info_string0: .b8 107, 0 }
.section .debug_loc { }
"""


def test_directives_and_debug_information_of_compilers():
    program = _native.Program(DEBUG)
    (entry,) = program.entries
    assert (entry.name, entry.parameters) == ("k", [("p0", 8, 8), ("p1", 128, 64)])
    assert (entry.max_threads, entry.required_threads, entry.cluster) == ((128, 1, 1), (0, 0, 0), (2, 1, 1))
    assert program.unsupported == []
    assert program.target == "sm_100a"


REFUSED = {
    "add.u32 %r1, %r2;": (BODY_LINE, "'add.u32' takes 3 operands, found 2"),
    "add.u32 %r1, %r2, %rd1;": (BODY_LINE, "'add.u32' expects 32 bits, '%rd1' has 64"),
    "add.u32 %r1, %r2, %r99;": (BODY_LINE, "'%r99' is not declared"),
    "add.u32 5, %r2, %r3;": (BODY_LINE, "expects a register as destination"),
    "add.u32 %r1, %r2, 1.5;": (BODY_LINE, "expects a literal of type .u32"),
    "add.f32 %f1, %f2, 1;": (BODY_LINE, "expects a literal of type .f32"),
    "add %r1, %r2, %r3;": (BODY_LINE, "has no type"),
    "bra nowhere;": (BODY_LINE, "label 'nowhere' is not declared"),
    "\n\nmov.u32 %r1, nothing;": (BODY_LINE + 2, "'nothing' is not declared"),
    "mov.u32 %r1 %r2;": (BODY_LINE, "expected ';'"),
    "@%r1 bra L; L:": (BODY_LINE, "expected a predicate register"),
    "L: L:": (BODY_LINE, "redefinition of label 'L'"),
    "ld.global.u32 %r1, %rd1;": (BODY_LINE, "expects an address in brackets"),
    "mov.u32 %r1, %tid.q;": (BODY_LINE, "'%tid.q' is not declared"),
    "setp.eq.u32 %r1, 1, 2;": (BODY_LINE, "expects a predicate"),
    ".reg .b32 x; .reg .b32 x;": (BODY_LINE, "redefinition of register 'x'"),
    "mov.f32 %f1, 0f3F8;": (BODY_LINE, "8 hexadecimal digits"),
    "/* never closed": (BODY_LINE, "unterminated comment"),
    "5;": (BODY_LINE, "expected an instruction, found '5'"),
    "@%p1 5;": (BODY_LINE, "expected an instruction after the guard"),
    ".colour;": (BODY_LINE, "expected a statement, found '.colour'"),
    ".reg .v2 .b32 x;": (BODY_LINE, "vector registers are not supported"),
    ".reg .colour x;": (BODY_LINE, "expected a register type, found '.colour'"),
    ".reg x;": (BODY_LINE, "expected a register type, found 'x'"),
    ".reg .b32 5;": (BODY_LINE, "expected a register name, found '5'"),
    ".local .b8 x[600000];": (BODY_LINE, "local memory and parameters exceed 524288 bytes"),
    "t: .branchtargets 5;": (BODY_LINE, "expected a label, found '5'"),
    "mov.u32 %r1, ;": (BODY_LINE, "expected an operand, found ';'"),
    "ld.global.u32 %r1, [*];": (BODY_LINE, "expected an address, found '*'"),
    "ld.global.u32 %r1, [%p1];": (BODY_LINE, "expected a register or variable as address, found '%p1'"),
    "mov.u32 %r1, 1/0;": (BODY_LINE, "division by zero in a constant expression"),
    "mov.u32 %r1, 1+%r2;": (BODY_LINE, "expected a constant, found '%'"),
    "mov.u32 %r1, 1+1.5;": (BODY_LINE, "expected an integer constant"),
    "mov.u32 %r1, 1.2.3;": (BODY_LINE, "expected a number, found '1.2.3'"),
    "mov.u32 %r1, 0b12;": (BODY_LINE, "expected a number, found '0b12'"),
    ".loc x;": (BODY_LINE, "expected a number, found 'x'"),
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body):
    with pytest.raises(_native.PtxError) as caught:
        _native.Program(ENTRY.format(body))
    line, message = REFUSED[body]
    assert (caught.value.line, message in caught.value.message) == (line, True), caught.value.message
    assert caught.value.column >= 1


# Texts after HEAD; those that end too early are reported in the line after the last one.
MODULE_LINE = 1 + HEAD.count("\n")
REFUSED_MODULES = {
    "add.u32 x;": (MODULE_LINE, "expected a directive, found 'a'"),
    ".visible": (MODULE_LINE + 1, "expected a directive, found the end of the text"),
    ".colour": (MODULE_LINE + 1, "expected a module directive, found '.colour'"),
    ".target sm_90, 5": (MODULE_LINE, "expected a target option, found '5'"),
    '.file 1 "k.cu': (MODULE_LINE, "unterminated string"),
    ".file": (MODULE_LINE + 1, "expected a number, found the end of the text"),
    ".visible .entry": (MODULE_LINE + 1, "expected a function name, found the end of the text"),
    ".visible .entry k() .speed 3 { ret; }": (MODULE_LINE, "expected a performance directive, found '.speed'"),
    ".entry k() { ret; } .entry k() { ret; }": (MODULE_LINE, "redefinition of function 'k'"),
    ".entry k() { ret;": (MODULE_LINE + 1, "expected '}' at the end of the function"),
    ".entry k(.param p)": (MODULE_LINE, "expected the type of a parameter"),
    ".entry k(.param .b32 p, .param .b32 p)": (MODULE_LINE, "redefinition of parameter 'p'"),
    ".func f(.colour .b32 x);": (MODULE_LINE, "expected .reg or .param and a type"),
    ".global .align 3 .b32 v;": (MODULE_LINE, "expected a power of two up to 1024 as alignment, found 3"),
    ".global .b32 v[300000000];": (MODULE_LINE, "a variable exceeds 2^30 bytes"),
    ".global .colour v;": (MODULE_LINE, "expected a type, found '.colour'"),
    ".global v;": (MODULE_LINE, "expected a type, found 'v'"),
    ".global .b32 5;": (MODULE_LINE, "expected a variable name, found '5'"),
    ".global .b32 v = w;": (MODULE_LINE, "the address of 'w' needs 64 bits, the element has 32"),
    ".global .f16 v = 1.0;": (MODULE_LINE, "expected the bits of the float as an integer"),
    ".global .b32 v[": (MODULE_LINE + 1, "expected a constant, found the end of the text"),
}


@pytest.mark.parametrize("text", REFUSED_MODULES)
def test_refused_module(text):
    with pytest.raises(_native.PtxError) as caught:
        _native.Program(HEAD + text + "\n")
    line, message = REFUSED_MODULES[text]
    assert (caught.value.line, message in caught.value.message) == (line, True), caught.value.message


def test_size_of_parameters():
    """PTX ISA 5.1.6.1: 32764 bytes. The sum of the sizes is compared before it wraps."""
    entry = HEAD + ".visible .entry k({}) {{ ret; }}\n"
    _native.Program(entry.format(".param .b8 p[32764]"))
    for sizes in ((32765,), (32764, 1), (1 << 30, 1 << 30, 1 << 30, 1 << 30)):
        text = entry.format(", ".join(f".param .b8 p{i}[{size}]" for i, size in enumerate(sizes)))
        with pytest.raises(_native.PtxError, match="the parameters of 'k' exceed 32764 bytes") as caught:
            _native.Program(text)
        assert caught.value.line == MODULE_LINE


def test_all_unsupported_instructions_are_listed():
    program = _native.Program(
        ENTRY.format("tex.2d.v4.f32.f32 a;\nadd.rn.u32.wrong %r1, %r1, 1;\nvadd.u32 a;".replace("a;", "%r1;"))
    )
    assert [line for line, _ in program.unsupported] == [BODY_LINE, BODY_LINE + 1, BODY_LINE + 2]
    assert "unknown instruction" in program.unsupported[0][1]
    assert ".wrong" in program.unsupported[1][1]


LAUNCHES = [
    ({"grid": (0,)}, "at least 1"),
    ({"block": (2048,)}, "at most 1024 threads"),
    ({"cluster": (2,)}, "not a multiple of the cluster"),
    ({"parameters": b"1234"}, "takes 8 bytes of parameters, found 4"),
    ({"entry": "other"}, "no entry 'other', found k"),
]


@pytest.mark.parametrize(("change", "message"), LAUNCHES)
def test_invalid_launch_is_refused(change, message):
    options = {"entry": "k", "grid": (1,), "block": (32,), "parameters": bytes(8)} | change
    with pytest.raises(_native.PtxError, match=message):
        _native.Program(ENTRY.format("")).run(**options)


def test_required_threads():
    program = _native.Program(ENTRY.format("").replace("p0)", "p0) .reqntid 64", 1))
    with pytest.raises(_native.PtxError, match="requires 64x1x1 threads"):
        program.run("k", (1,), (32,), parameters=bytes(8))


def test_required_cluster():
    program = _native.Program(ENTRY.format("").replace("p0)", "p0) .reqnctapercluster 2", 1))
    program.run("k", (2,), (32,), cluster=(2,), parameters=bytes(8))
    with pytest.raises(_native.PtxError, match="'k' requires clusters of 2x1x1, found 1x1x1"):
        program.run("k", (2,), (32,), parameters=bytes(8))


def test_launch_with_four_dimensions_is_refused():
    with pytest.raises(ValueError, match="grid, block and cluster have at most three dimensions"):
        _native.Program(ENTRY.format("")).run("k", (1, 1, 1, 1), (32,), parameters=bytes(8))


def test_trap_names_the_source_line(simulate):
    """A .loc may name a file without a .file directive."""
    with pytest.raises(_native.Trap) as caught:
        simulate(
            '.file 3 "here.py"\n.loc 3 12 5\nmov.u32 %r1, 1;\n.loc 3 13 5\ntrap;'.replace('.file 3 "here.py"\n', ""),
            block=1,
        )
    assert caught.value.source_line == 13


def test_random_edits_of_the_text_do_not_crash():
    """Deleting, duplicating or replacing random characters yields PtxError or a program."""
    source = ENTRY.format("""
    ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; setp.lt.and.u32 %p1|%p2, %r1, 0x10, %p3;
    @%p1 bra L; { .reg .b32 x; mov.b32 x, {1, 2}; mov.b64 {%r1, _}, %rd1; } L: fma.rn.f32 %f1, %f1, 0f3F800000, 1.0;
    atom.global.add.u32 %r2, [%rd1+4], -3; shfl.sync.idx.b32 %r2|%p1, %r1, 0, 31, -1;""")
    generator = random.Random(7)
    for _ in range(3000):
        text = list(source)
        for _ in range(generator.randint(1, 4)):
            at = generator.randrange(len(text))
            text[at : at + 1] = generator.choice([[], [text[at]] * 2, [generator.choice("{}[]();,.:@%!|+-0x")]])
        try:
            _native.Program("".join(text))
        except _native.PtxError as error:
            assert error.message


def test_literals(over_lanes):
    got = over_lanes(
        """
    mov.u32 %r1, 0x10; add.u32 %r1, %r1, 0b101; add.u32 %r1, %r1, 010; add.s32 %r1, %r1, -3; mov.f32 %f1, 0fC0000000;
    cvt.rzi.s32.f32 %r2, %f1; add.s32 %r1, %r1, %r2; mov.f64 %rd1, 0d4008000000000000; cvt.rzi.s32.f64 %r2, %rd1;
    add.s32 %r1, %r1, %r2; mov.f32 %f1, 2.5e1; cvt.rzi.s32.f32 %r2, %f1; add.s32 %r1, %r1, %r2;""".replace(
            "mov.f64 %rd1", "mov.b64 %rd1"
        )
    )
    assert (got == 16 + 5 + 8 - 3 - 2 + 3 + 25).all()


def test_a_seed_determines_the_order_of_execution(simulate):
    """Ten seeds have at least two different orders, and the same ones in a second run."""
    body = "ld.param.u64 %rd1, [p0]; mov.u32 %r0, %warpid; atom.global.exch.b32 %r2, [%rd1], %r0;"

    def last(seed):
        out = np.zeros(1, np.uint32)
        simulate(body, out, block=256, seed=seed)
        return int(out[0])

    first = [last(seed) for seed in range(10)]
    assert first == [last(seed) for seed in range(10)]
    assert len(set(first)) > 1


def test_mixed_types_that_ptx_does_not_have_are_unsupported():
    program = _native.Program(ENTRY.format(".reg .b16 h; mul.f32.f16 %f1, h, %f2;"))
    assert "unknown combination of types" in program.unsupported[0][1]


@pytest.mark.parametrize(
    ("nest", "close"),
    [("(", ")"), ("{", "}"), ("-", ""), ("~", ""), ("!", "")],
)
@pytest.mark.parametrize("depth", [300, 100_000])
def test_deep_nesting_is_refused(nest, close, depth):
    body = f"mov.u32 %r1, {nest * depth}1{close * depth};" if nest != "{" else nest * depth + close * depth
    with pytest.raises(_native.PtxError, match="more than 256 nested levels") as caught:
        _native.Program(ENTRY.format(body))
    assert caught.value.line == BODY_LINE and caught.value.column > 1


def test_nesting_of_100_levels_is_accepted():
    _native.Program(ENTRY.format("{" * 100 + "mov.u32 %r1, -" + "(" * 100 + "1" + ")" * 100 + ";" + "}" * 100))


@pytest.mark.parametrize("text", ["é", "mov.u32 %r1, é;", "mov.u32 é, 1;", "\x80", "日本: ;"])
def test_text_that_is_not_ascii_is_refused(text):
    with pytest.raises(_native.PtxError, match=r"\\x") as caught:
        _native.Program(ENTRY.format(text))
    assert (caught.value.line, caught.value.column >= 1) == (BODY_LINE, True)


def test_comments_may_be_non_ascii():
    _native.Program(ENTRY.format("// Größe 日本\n"))


CONSTANTS = {
    "9223372036854775807+1": 1 << 63,
    "-9223372036854775807-2": (1 << 63) - 1,
    "-(9223372036854775807+1)": 1 << 63,
    "-9223372036854775808/-1": 1 << 63,
}


@pytest.mark.parametrize("expression", CONSTANTS)
def test_constants_wrap_at_64_bits(simulate, expression):
    out = np.zeros(1, np.uint64)
    simulate(f"ld.param.u64 %rd1, [p0]; mov.u64 %rd2, {expression}; st.global.u64 [%rd1], %rd2;", out, block=1)
    assert out[0] == CONSTANTS[expression]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (".shared .b32 x; .shared .b32 x;", "x"),
        (".local .b32 y; .shared .b32 y;", "y"),
    ],
)
def test_duplicate_variable_is_refused(text, name):
    with pytest.raises(_native.PtxError, match=f"redefinition of variable '{name}'"):
        _native.Program(ENTRY.format(text))


def test_extern_declarations_and_one_definition_of_a_variable():
    text = ENTRY.format("").replace(
        ".visible", ".extern .global .b32 v; .global .b32 v = 5; .extern .global .b32 v;\n.visible", 1
    )
    _native.Program(text)
    with pytest.raises(_native.PtxError, match="redefinition of variable 'v'"):
        _native.Program(text.replace("= 5;", "= 5; .global .b32 v = 6;"))


def test_static_shared_memory_is_limited():
    _native.Program(ENTRY.format(".shared .b8 a[49152];"))
    with pytest.raises(_native.PtxError, match="declares 49153 bytes of static shared memory, the maximum is 49152"):
        _native.Program(ENTRY.format(".shared .b8 a[49153];"))
    # The sum of the sizes is computed in 64 bits.
    with pytest.raises(_native.PtxError, match="declares 4294967296 bytes"):
        _native.Program(ENTRY.format("".join(f".shared .b8 a{i}[1073741824];" for i in range(4))))


LIMITS = [
    ({"shared_bytes": 227 * 1024 + 1}, "at most 232448 bytes of shared memory, found 232449"),
    ({"shared_bytes": 2**32 - 1}, "at most 232448 bytes of shared memory"),
    ({"grid": (1, 65536)}, "at most 65535 in dimension y"),
    ({"grid": (1, 1, 65536)}, "at most 65535 in dimension z"),
    ({"grid": (2**31,)}, "at most 2147483647 in dimension x"),
    ({"block": (1, 1, 128)}, "at most 64 in dimension z"),
    ({"block": (64, 64)}, "at most 1024 threads"),
]


@pytest.mark.parametrize(("change", "message"), LIMITS)
def test_limits_of_a_launch(change, message):
    options = {"entry": "k", "grid": (1,), "block": (32,), "parameters": bytes(8)} | change
    with pytest.raises(_native.PtxError, match=message):
        _native.Program(ENTRY.format("")).run(**options)


def test_launch_at_the_limits_is_accepted():
    _native.Program(ENTRY.format("")).run("k", (1,), (16, 1, 64), parameters=bytes(8), shared_bytes=227 * 1024)
