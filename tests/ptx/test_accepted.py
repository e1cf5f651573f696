"""ptxas accepts the emitted PTX without warnings, for both targets."""

from __future__ import annotations

import pytest

from tilec.dialect.cuda_tile.debug_info import DICompileUnitAttr, DIFileAttr, DISubprogramAttr, di_location
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder, entry, function
from tilec.lowering.ptx.emit import emit
from tilec.runtime.cubin.cubin import assemble
from tilec.runtime.ptxsim._native import Program

TARGETS = ["sm_90a", "sm_100a"]
FUNCTION = """\
.func (.param .b32 result) twice (.param .b32 argument)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [argument];
    add.f32 %f2, %f1, %f1;
    st.param.f32 [result], %f2;
    ret;
}"""


def location(line: int) -> ir.Location:
    return ir.Location.name("cuda_tile.test", ir.Location.file("/home/ann/kernel.py", line, 5))


def kernel(module: ir.Module, target: str, **options: object) -> PtxBuilder:
    parameters = [("out", "u64"), ("count", "s32"), ("map", "tensor_map")]
    made = entry(module, "kernel", target=target, threads=[128], parameters=parameters, loc=location(1), **options)
    return PtxBuilder(made)


def write_every_construct(b: PtxBuilder) -> None:
    """Every register class, a call, a loop that swaps values one of which is live after it, and edges with moves."""
    out = b.compute("ld.param.b64 $0, [out];", b.i64)
    count = b.compute("ld.param.b32 $0, [count];", b.i32)
    ring = b.compute("mov.b32 $0, ring;", b.i32)
    x = b.compute("cvt.rn.f32.s32 $0, $1;", b.f32, count, loc=location(2))
    y = b.execute("call.uni ($0), twice, ($1);", b.f32, x, loc=location(3))
    d = b.compute("cvt.f64.f32 $0, $1;", b.f64, y)
    h = b.compute("cvt.rn.f16.f64 $0, $1;", b.i16, d)
    flag = b.compute("setp.gt.f64 $0, $1, 0d3FF0000000000000;", b.i1, d)
    zero = b.compute("mov.b32 $0, 0;", b.i32)
    loop, after = b.block([b.i32, b.f32, b.f32, b.i1], "loop"), b.block([b.f32, b.i1], "after")
    b.branch(loop, zero, x, y, flag)
    b.at(loop)
    i, left, right, odd = loop.arguments
    b.execute("@$0 st.shared.b32 [$1], $2;", (), odd, ring, i, loc=location(4))
    even = b.compute("not.pred $0, $1;", b.i1, odd)
    following = b.compute("add.s32 $0, $1, 1;", b.i32, i)
    more = b.compute("setp.lt.s32 $0, $1, $2;", b.i1, following, count)
    b.cond_branch(more, loop, [following, right, left, even], after, [left, odd], uniform=True)
    b.at(after)
    kept = b.execute("@$2 ld.global.f32 $0, [$3];", b.f32, after.arguments[0], after.arguments[1], out, tied=[0])
    b.execute("st.global.f32 [$0], $1;", (), out, kept, loc=location(5))
    b.execute("st.global.f32 [$0+4], $1;", (), out, left)
    b.execute("st.global.b16 [$0+8], $1;", (), out, h)
    b.execute("{\n.reg .b64 address;\nmov.b64 address, map;\nprefetch.param.tensormap [address];\n}", loc=location(6))
    b.leave(loc=location(7))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "options",
    [{}, {"cluster": [2]}, {"maxnreg": 128}, {"min_ctas": 1}],
    ids=["plain", "cluster", "maxnreg", "min_ctas"],
)
def test_every_construct_is_accepted(module: ir.Module, target: str, options: dict) -> None:
    function(module, "twice", FUNCTION)
    shared = [
        {"name": "scratch", "bytes": 48 * 1024, "alignment": 16},
        {"name": "ring", "bytes": 160 * 1024, "alignment": 1024, "dynamic": True},
    ]
    b = kernel(module, target, shared=shared, **options)
    write_every_construct(b)
    assert module.operation.verify()
    cubin = assemble(emit(module), target)
    assert cubin.warnings == ()
    assert cubin.spill_bytes == 0


@pytest.mark.parametrize("target", TARGETS)
def test_inlined_functions_with_names_are_accepted(module: ir.Module, target: str) -> None:
    file = DIFileAttr.get("kernel.py", "/home/ann")
    unit = DICompileUnitAttr.get(file)
    outer, inner = (DISubprogramAttr.get(file, 1, name, name, unit) for name in ("kernel", "größe"))
    call = di_location(outer, "/home/ann/kernel.py", 9, 1)
    inlined = ir.Location.callsite(di_location(inner, "/home/ann/helper.py", 3, 5), [call])
    b = kernel(module, target)
    out = b.compute("ld.param.b64 $0, [out];", b.i64, loc=call)
    x = b.compute("mov.f32 $0, 0f3F800000;", b.f32, loc=ir.Location.callsite(inlined, [inlined]))
    b.execute("st.global.f32 [$0], $1;", (), out, b.compute("add.f32 $0, $1, $1;", b.f32, x, loc=inlined), loc=call)
    b.leave(loc=call)
    text = emit(module)
    assert text.count("inlined_at") == 3
    assert assemble(text, target).warnings == ()
    assert [each.name for each in Program(text).entries] == ["kernel"]


def test_wgmma_loop_is_not_serialized(module: ir.Module) -> None:
    """ptxas warns (C7510) if accumulators are moved between wgmma instructions."""
    shared = [{"name": "ring", "bytes": 32768, "alignment": 1024}]
    b = kernel(module, "sm_90a", shared=shared)
    out = b.compute("ld.param.b64 $0, [out];", b.i64)
    count = b.compute("ld.param.b32 $0, [count];", b.i32)
    zero, none = b.compute("mov.f32 $0, 0f00000000;", b.f32), b.compute("mov.b32 $0, 0;", b.i32)
    descriptor = b.compute("mov.b64 $0, 4611686293305294848;", b.i64)
    loop, after = b.block([b.i32, *[b.f32] * 64], "k_loop"), b.block((), "k_done")
    b.branch(loop, none, *[zero] * 64)
    b.at(loop)
    i, *accumulators = loop.arguments
    b.execute("wgmma.fence.sync.aligned;")
    for _ in range(4):
        text = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {$0..$63}, $128, $129, 1, 1, 1, 0, 0;"
        accumulators = b.execute(text, [b.f32] * 64, *accumulators, descriptor, descriptor, tied=range(64))
    b.execute("wgmma.commit_group.sync.aligned;")
    accumulators = b.execute("wgmma.wait_group.sync.aligned 0;", [b.f32] * 64, *accumulators, tied=range(64))
    following = b.compute("add.s32 $0, $1, 1;", b.i32, i)
    more = b.compute("setp.lt.s32 $0, $1, $2;", b.i1, following, count)
    b.cond_branch(more, loop, [following, *accumulators], after, ())
    b.at(after)
    for index, value in enumerate(accumulators):
        b.execute(f"st.global.f32 [$0+{4 * index}], $1;", (), out, value)
    b.leave()
    assert module.operation.verify()
    cubin = assemble(emit(module), "sm_90a")
    assert cubin.warnings == ()
    assert cubin.registers < 128


def test_tensor_memory_loads_need_no_moves(module: ir.Module) -> None:
    b = kernel(module, "sm_100a")
    out = b.compute("ld.param.b64 $0, [out];", b.i64)
    address = b.compute("mov.b32 $0, 0;", b.i32)
    row = b.execute("tcgen05.ld.sync.aligned.32x32b.x128.b32 {$0..$127}, [$128];", [b.i32] * 128, address)
    # PTX ISA 9.7.16.6.4.5: registers of tcgen05.ld are defined after the wait, so the values are results of the wait.
    row = b.execute("tcgen05.wait::ld.sync.aligned;", [b.i32] * 128, *row, tied=range(128))
    for index in range(0, 128, 4):
        b.execute(f"st.global.v4.b32 [$0+{4 * index}], {{$1..$4}};", (), out, *row[index : index + 4])
    b.leave()
    assert module.operation.verify()
    text = emit(module)
    assert "mov.b32" not in text.partition("tcgen05")[2]
    assert assemble(text, "sm_100a").warnings == ()
