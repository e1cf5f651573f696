"""Comments and .loc directives name the tile operation and the Python line of each instruction."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.cuda_tile.debug_info import DICompileUnitAttr, DIFileAttr, DILexicalBlockAttr, DISubprogramAttr
from tilec.dialect.cuda_tile.debug_info import di_location as scoped
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder
from tilec.lowering.ptx.emit import COMMENT_COLUMN

Text = Callable[[], str]


def at(line: int, column: int = 5, file: str = "/home/ann/matmul.py") -> ir.Location:
    return ir.Location.file(file, line, column)


def written(text: str) -> list[str]:
    return [line for line in text.splitlines() if ".loc" in line or "//" in line or "bar" in line]


def test_location_is_written_where_it_changes(b: PtxBuilder, text: Text) -> None:
    for location in (
        ir.Location.name("cuda_tile.mmaf", at(12)),
        ir.Location.name("cuda_tile.mmaf", at(12)),
        ir.Location.name("cuda_tile.addf", at(12)),
        ir.Location.name("cuda_tile.addf", at(13)),
    ):
        b.execute("bar.sync 0;", loc=location)
    b.leave(loc=at(13))
    lines = [" ".join(line.split()) for line in written(text())]
    assert lines == [
        ".loc 1 12 5",
        "bar.sync 0; // cuda_tile.mmaf matmul.py:12",
        "bar.sync 0;",
        "bar.sync 0; // cuda_tile.addf matmul.py:12",
        ".loc 1 13 5",
        "bar.sync 0; // cuda_tile.addf matmul.py:13",
        "ret; // matmul.py:13",
    ]


def test_comments_are_aligned(b: PtxBuilder, text: Text) -> None:
    b.execute("bar.sync 0;", loc=at(1))
    values = b.execute("tcgen05.ld.sync.aligned.32x32b.x32.b32 {$0..$31}, [0];", [b.i32] * 32, loc=at(2))
    b.execute("st.local.b32 [0], $0;", (), values[0], loc=at(3))
    b.leave()
    assert {line.index("//") for line in text().splitlines() if "//" in line} == {COMMENT_COLUMN + 2}


def test_inlined_function_names_its_callers(b: PtxBuilder, text: Text) -> None:
    called = ir.Location.callsite(at(3, 1, "/home/ann/helper.py"), [at(30), at(40)])
    b.execute("bar.sync 0;", loc=ir.Location.name("cuda_tile.exp", called))
    b.leave()
    body = text()
    assert '.file 1 "/home/ann/helper.py"' in body
    assert ".loc 1 3 1" in body
    assert "// cuda_tile.exp  helper.py:3 (called at matmul.py:30, matmul.py:40)" in body


def test_name_of_the_operation_may_be_inside_the_call_site(b: PtxBuilder, text: Text) -> None:
    inner = ir.Location.name("cuda_tile.exp", at(3))
    b.execute("bar.sync 0;", loc=ir.Location.callsite(inner, [at(30)]))
    b.leave()
    assert "// cuda_tile.exp  matmul.py:3 (called at matmul.py:30)" in text()


def test_fused_location_uses_its_first_known_location(b: PtxBuilder, text: Text) -> None:
    b.execute("bar.sync 0;", loc=ir.Location.fused([ir.Location.unknown(), at(9), at(10)]))
    b.leave()
    assert "// matmul.py:9\n" in text()


def subprogram(name: str) -> DISubprogramAttr:
    file = DIFileAttr.get("matmul.py", "/home/ann")
    return DISubprogramAttr.get(file, 1, name, name, DICompileUnitAttr.get(file))


def test_location_in_a_lexical_block(b: PtxBuilder, text: Text) -> None:
    kernel = subprogram("kernel")
    block = DILexicalBlockAttr.get(kernel, kernel.file, 2)
    b.execute("bar.sync 0;", loc=ir.Location.name("cuda_tile.exp", scoped(block, "/home/ann/matmul.py", 3, 7)))
    b.leave()
    assert ".loc 1 3 7" in text()
    assert "// cuda_tile.exp  matmul.py:3\n" in text()
    assert ".section" not in text()


def test_inlined_functions_have_inlined_at(b: PtxBuilder, text: Text) -> None:
    # PTX ISA, ".loc": a preceding .loc must define the location that `inlined_at` names.
    kernel, helper, inner = (subprogram(name) for name in ("kernel", "helper", "inner"))
    called = scoped(kernel, "/k.py", 30, 2)
    in_helper = ir.Location.callsite(scoped(helper, "/h.py", 5, 3), [called])
    in_inner = ir.Location.callsite(scoped(inner, "/h.py", 9, 4), [in_helper])
    for location in (in_helper, in_inner, in_inner, called, in_helper):
        b.execute("bar.sync 0;", loc=ir.Location.name("cuda_tile.exp", location))
    b.leave()
    body = text()
    assert [" ".join(line.split("//")[0].split()) for line in written(body)] == [
        ".loc 1 30 2",
        ".loc 2 5 3, function_name $function_names+0, inlined_at 1 30 2",
        "bar.sync 0;",
        ".loc 2 9 4, function_name $function_names+7, inlined_at 2 5 3",
        "bar.sync 0;",
        "bar.sync 0;",
        ".loc 1 30 2",
        "bar.sync 0;",
        ".loc 2 5 3, function_name $function_names+0, inlined_at 1 30 2",
        "bar.sync 0;",
    ]
    assert body.endswith(
        "}\n\n.section .debug_str\n{\n$function_names:\n"
        "    .b8 104, 101, 108, 112, 101, 114, 0\n    .b8 105, 110, 110, 101, 114, 0\n}\n"
    )
    assert "// cuda_tile.exp  h.py:9 (called at h.py:5, k.py:30)" in body


def test_call_of_a_function_without_name_uses_the_innermost_line(b: PtxBuilder, text: Text) -> None:
    b.execute("bar.sync 0;", loc=ir.Location.callsite(at(3), [scoped(subprogram("kernel"), "/k.py", 30, 2)]))
    b.leave()
    assert [line.strip() for line in text().splitlines() if ".loc" in line] == [".loc 1 3 5"]


def test_nested_call_sites_that_share_locations_are_bounded(b: PtxBuilder, text: Text) -> None:
    location = scoped(subprogram("kernel"), "/k.py", 30, 2)
    for _ in range(60):
        location = ir.Location.callsite(location, [location])
    b.execute("bar.sync 0;", loc=location)
    b.leave()
    assert text().count("k.py:30") == 100


def test_each_file_has_one_number(b: PtxBuilder, text: Text) -> None:
    for line, file in ((1, "/a.py"), (2, '/odd "name".py'), (3, "/a.py")):
        b.execute("bar.sync 0;", loc=at(line, 1, file))
    b.leave()
    body = text()
    assert '.file 1 "/a.py"\n.file 2 "/odd \\"name\\".py"\n\n' in body
    assert [line.strip() for line in body.splitlines() if ".loc" in line] == [".loc 1 1 1", ".loc 2 2 1", ".loc 1 3 1"]


def test_kernel_without_locations(b: PtxBuilder, text: Text) -> None:
    b.execute("bar.sync 0;")
    b.leave()
    assert "//" not in text() and ".file" not in text()


def test_moves_have_the_location_of_their_branch(b: PtxBuilder, text: Text) -> None:
    one = b.compute("mov.b32 $0, 1;", b.i32, loc=at(1))
    loop = b.block([b.i32], "loop")
    b.branch(loop, one, loc=at(2))
    b.at(loop)
    b.execute("st.local.v2.b32 [0], {$0, $1};", (), loop.arguments[0], one, loc=at(3))
    incremented = b.compute("add.s32 $0, $1, 1;", b.i32, one, loc=at(4))
    b.branch(loop, incremented, loc=at(5))
    move = next(line for line in text().splitlines() if "mov.b32 %r2, %r1;" in line)
    assert move.endswith("// matmul.py:2")
