"""The emitted text: directives, labels, branches, constants and long instructions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilec.dialect.mlir import ir, passmanager
from tilec.dialect.ptx.builder import PtxBuilder, entry, function, shared_attribute, variable
from tilec.errors import CompileError
from tilec.lowering.ptx.emit import emit

Text = Callable[[], str]
Lines = Callable[[], list[str]]

WHOLE = """\
.version 9.0
.target sm_100a
.address_size 64

.extern .shared .align 1024 .b8 ring[];

.func one () { ret; }

.global .align 1 .b8 text[2] = {97, 0};
.global .align 4 .b8 zeros[64];

.visible .entry kernel(
    .param .u64 kernel_param_0,
    .param .f32 kernel_param_1,
    .param .align 64 .b8 kernel_map_0[128]
)
.reqntid 192, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
.maxnreg 168
{
    .reg .pred %p<2>;
    .reg .b16 %h<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    .reg .f32 %f<2>;
    .reg .f64 %fd<2>;
    .shared .align 8 .b8 barriers[64];

    ld.param.b64 %rd1, [kernel_param_0];
    ld.param.f32 %f1, [kernel_param_1];
    mov.b32 %r1, ring;
    cvt.f64.f32 %fd1, %f1;
    cvt.rn.bf16.f32 %h1, %f1;
    setp.gt.f64 %p1, %fd1, 0d0000000000000000;
    @%p1 st.global.b16 [%rd1+2], %h1;
    call.uni one;
    st.shared.b32 [barriers], %r1;
    ret;
}
"""


def test_complete_file(module: ir.Module, text: Text) -> None:
    made = entry(
        module,
        "kernel",
        target="sm_100a",
        threads=[192],
        parameters=[("kernel_param_0", "u64"), ("kernel_param_1", "f32"), ("kernel_map_0", "tensor_map")],
        shared=[
            {"name": "barriers", "bytes": 64, "alignment": 8},
            {"name": "ring", "bytes": 131072, "alignment": 1024, "dynamic": True},
        ],
        cluster=[2],
        maxnreg=168,
    )
    variable(module, "text", ".global .align 1 .b8 text[2] = {97, 0};")
    variable(module, "zeros", ".global .align 4 .b8 zeros[64];")
    function(module, "one", ".func one () { ret; }\n")
    b = PtxBuilder(made)
    pointer = b.compute("ld.param.b64 $0, [kernel_param_0];", b.i64)
    scalar = b.compute("ld.param.f32 $0, [kernel_param_1];", b.f32)
    ring = b.compute("mov.b32 $0, ring;", b.i32)
    wide = b.compute("cvt.f64.f32 $0, $1;", b.f64, scalar)
    half = b.compute("cvt.rn.bf16.f32 $0, $1;", b.i16, scalar)
    positive = b.compute("setp.gt.f64 $0, $1, 0d0000000000000000;", b.i1, wide)
    b.execute("@$0 st.global.b16 [$1+2], $2;", (), positive, pointer, half)
    b.execute("call.uni one;")
    b.execute("st.shared.b32 [barriers], $0;", (), ring)
    b.leave()
    assert text() == WHOLE


def test_min_ctas_becomes_minnctapersm(b: PtxBuilder, text: Text) -> None:
    b.entry.attributes["min_ctas"] = ir.IntegerAttr.get(b.i32, 2)
    b.leave()
    assert ".reqntid 128, 1, 1\n.minnctapersm 2\n{" in text()


def test_kernels_share_a_dynamic_buffer(module: ir.Module, text: Text) -> None:
    for name, alignment in (("first", 128), ("second", 1024)):
        shared = [{"name": "ring", "bytes": 64, "alignment": alignment, "dynamic": True}]
        PtxBuilder(entry(module, name, target="sm_90a", threads=[32], shared=shared)).leave()
    assert text().count(".extern") == 1
    assert ".extern .shared .align 1024 .b8 ring[];" in text()


def test_kernels_with_different_targets_are_refused(module: ir.Module) -> None:
    for target in ("sm_100a", "sm_90a"):
        PtxBuilder(entry(module, f"kernel_{target}", target=target, threads=[32])).leave()
    with pytest.raises(CompileError, match="one PTX file has one target, got sm_100a, sm_90a"):
        emit(module)


def test_module_without_a_kernel_is_refused(module: ir.Module) -> None:
    with pytest.raises(CompileError, match="the module has no 'ptx.entry'"):
        emit(module)


def test_operation_of_another_dialect_is_refused(b: PtxBuilder, module: ir.Module) -> None:
    source = ir.Location.name("cuda_tile.addi", ir.Location.file("/home/ann/add.py", 7, 3))
    value = b.compute("mov.b32 $0, 1;", b.i32)
    ir.Operation.create("arith.addi", [b.i32], [value, value], loc=source, ip=ir.InsertionPoint(b.current))
    b.leave()
    with pytest.raises(CompileError, match="'arith.addi' has no PTX form in the ptx dialect") as caught:
        emit(module)
    assert str(caught.value.location) == "/home/ann/add.py:7:3"


def test_value_without_a_register_is_refused(b: PtxBuilder, module: ir.Module) -> None:
    byte = ir.IntegerType.get_signless(8, b.i32.context)
    zero = {"value": ir.IntegerAttr.get(byte, 0)}
    made = ir.Operation.create(
        "arith.constant", [byte], [], zero, loc=ir.Location.unknown(byte.context), ip=ir.InsertionPoint(b.current)
    )
    done = b.block([byte], "done")
    b.branch(done, made.result)
    b.at(done)
    b.leave()
    with pytest.raises(CompileError, match="ptx has no register of type i8, expected i1, i16, i32, i64, i128, f32"):
        emit(module)


def test_labels_are_the_names_of_the_builder_made_unique(b: PtxBuilder, lines: Lines) -> None:
    condition = b.compute("setp.ne.b32 $0, 0, 1;", b.i1)
    for _ in range(2):
        then, done = b.block((), "if_then"), b.block((), "if done")
        b.cond_branch(condition, then, (), done, (), uniform=True)
        b.at(then)
        b.execute("bar.sync 0;")
        b.branch(done)
        b.at(done)
        b.execute("membar.cta;")
    b.branch(b.block())
    b.at(b.region.blocks[5])
    b.branch(b.region.blocks[5])
    assert lines() == [
        "setp.ne.b32 %p1, 0, 1;",
        "@!%p1 bra.uni $if_done;",
        "bar.sync 0;",
        "$if_done:",
        "membar.cta;",
        "@!%p1 bra.uni $if_done_2;",
        "bar.sync 0;",
        "$if_done_2:",
        "membar.cta;",
        "$loop_5:",
        "bra.uni $loop_5;",
    ]


def test_branches_skip_blocks_that_only_branch(b: PtxBuilder, lines: Lines) -> None:
    condition = b.compute("setp.ne.b32 $0, 0, 1;", b.i1)
    step, then, end = b.block(), b.block(), b.block((), "end")
    b.cond_branch(condition, then, (), step, ())
    b.at(step)
    b.branch(end)
    b.at(then)
    b.execute("bar.sync 0;")
    b.branch(step)
    b.at(end)
    b.leave()
    assert lines() == ["setp.ne.b32 %p1, 0, 1;", "@!%p1 bra $end;", "bar.sync 0;", "$end:", "ret;"]


def test_exit_of_a_loop_is_placed_after_it(b: PtxBuilder, lines: Lines) -> None:
    condition = b.execute("setp.ne.b32 $0, 0, 1;", b.i1)
    out, loop, again = b.block((), "out"), b.block((), "loop"), b.block((), "again")
    b.branch(loop)
    b.at(out)
    b.leave()
    b.at(loop)
    b.execute("bar.sync 0;")
    b.cond_branch(condition, out, (), again, ())
    b.at(again)
    b.execute("bar.sync 1;")
    b.branch(loop)
    assert lines()[1:] == ["$loop:", "bar.sync 0;", "@%p1 bra $out;", "bar.sync 1;", "bra.uni $loop;", "$out:", "ret;"]


def test_unreachable_blocks_are_not_emitted(b: PtxBuilder, lines: Lines) -> None:
    lost = b.block([b.i32])
    b.leave()
    b.at(lost)
    b.execute("st.local.b32 [0], $0;", (), lost.arguments[0])
    b.branch(lost, lost.arguments[0])
    assert lines() == ["ret;"]


def test_instruction_of_several_lines_is_indented(b: PtxBuilder, text: Text) -> None:
    b.execute("{\n.param .b32 x;\ncall one, (x);\n}")
    b.leave()
    assert "    {\n    .param .b32 x;\n    call one, (x);\n    }\n" in text()


def test_long_instructions_are_wrapped(b: PtxBuilder, text: Text) -> None:
    address = b.compute("mov.b32 $0, 0;", b.i32)
    values = b.execute("tcgen05.ld.sync.aligned.32x32b.x64.b32 {$0..$63}, [$64];", [b.i32] * 64, address)
    b.execute("st.local.b32 [0], $0;", (), values[63])
    b.leave()
    written = text().splitlines()
    start = next(number for number, line in enumerate(written) if "tcgen05.ld" in line)
    assert written[start].startswith("    tcgen05.ld.sync.aligned.32x32b.x64.b32 {%r2, %r3,")
    assert written[start + 1].startswith("        %r")
    assert max(map(len, written)) <= 112
    joined = " ".join(line.strip() for line in written[start : start + 6])
    assert f"{{{', '.join(f'%r{number}' for number in range(2, 66))}}}, [%r1];" in joined


def test_select_and_constants_of_upstream_passes(b: PtxBuilder, lines: Lines) -> None:
    """Upstream passes turn two edges to one block into a select, and a condition into true in its branch."""
    condition = b.execute("setp.ne.b32 $0, 0, 1;", b.i1)
    integer, float_, flag = (b.execute(f"mov $0, {n};", kind) for n, kind in enumerate((b.i32, b.f32, b.i1)))
    other = [b.execute(f"mov $0, {n};", kind) for n, kind in enumerate((b.i32, b.f32, b.i1), 3)]
    join = b.block([b.i32, b.f32, b.i1])
    b.cond_branch(condition, join, [integer, float_, flag], join, other)
    b.at(join)
    b.execute("use $0, $1, $2;", (), *join.arguments)
    then, done = b.block(), b.block([b.i1])
    b.cond_branch(condition, then, (), done, [flag])
    b.at(then)
    b.execute("use $0;", (), condition)
    b.branch(done, condition)
    b.at(done)
    b.execute("use $0;", (), done.arguments[0])
    b.leave()
    passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(b.entry.parent)
    opcodes = [line.split()[0] for line in lines()]
    assert [opcodes.count(name) for name in ("selp.b32", "selp.f32", "bra.uni")] == [1, 1, 0]
    # PTX has no selp on predicates: (condition and first) or (not condition and second).
    logic = "{ .reg .pred %yes, %no; and.pred %yes, %p2, %p3; not.pred %no, %p2; and.pred %no, %no, %p4; or.pred"
    assert any(line.startswith(logic) for line in lines())
    assert "mov.pred %p1, 1;" in lines()


@pytest.mark.parametrize(
    ("kind", "value", "line"),
    [
        ("i16", "-1", "mov.b16 %h1, -1;"),
        ("i32", "7", "mov.b32 %r1, 7;"),
        ("f32", "1.5", "mov.f32 %f1, 0f3FC00000;"),
        ("f64", "-2.5", "mov.f64 %fd1, 0dC004000000000000;"),
    ],
)
def test_constants_of_upstream_passes(b: PtxBuilder, lines: Lines, kind: str, value: str, line: str) -> None:
    """Floating-point immediates are hexadecimal bit patterns."""
    attribute = ir.Attribute.parse(f"{value} : {kind}")
    ir.Operation.create("arith.constant", [attribute.type], [], {"value": attribute}, ip=ir.InsertionPoint(b.current))
    b.leave()
    assert lines() == [line, "ret;"]


def test_shared_buffers_can_be_declared_after_the_entry_is_created(b: PtxBuilder, text: Text) -> None:
    b.entry.attributes["shared"] = shared_attribute([{"name": "scratch", "bytes": 512, "alignment": 16}])
    b.leave()
    assert "    .shared .align 16 .b8 scratch[512];\n" in text()
