"""`tilec dialect`: prints the list of operations, one operation, or the dialects in IRDL."""

from pathlib import Path
from typing import Any

import pytest

from tilec.dialect.mlir import ir, irdl
from tilec.dialect.registry import dialects


def test_every_operation_has_a_line(tilec: Any) -> None:
    outcome = tilec("dialect")
    assert (outcome.status, outcome.err) == (0, "")
    for dialect in dialects():
        section = outcome.out.split(f"{dialect.DIALECT_NAMESPACE}: ")[1].split("\n\n")[0]
        listed = [line.split()[0] for line in section.splitlines() if line.startswith("  ")]
        names = [getattr(op, "spelled_name", op.OPERATION_NAME) for op in dialect.operations]
        assert [f"{dialect.DIALECT_NAMESPACE}.{name}" for name in listed] == names


def test_line_has_version_values_and_assembly(tilec: Any) -> None:
    lines = {line.split()[0]: line.split() for line in tilec("dialect", "cuda_tile").out.splitlines()}
    assert lines["addi"][1:5] == ["13.1", "lhs,", "rhs", "->"]
    assert lines["addi"][5:] == ["result", "$lhs,", "$rhs{", "overflow<$overflow>}", "attr-dict", ":", "type($result)"]
    assert lines["atomic_red_view_tko"][1:8] == ["13.3", "view,", "index...,", "value,", "token?", "->", "result_token"]
    assert lines["for"][-5:] == ["(a", "syntax", "of", "its", "own)"]


def test_description_of_one_operation(tilec: Any) -> None:
    assert (
        tilec("dialect", "cuda_tile.exti").out
        == """\
cuda_tile.exti (Tile IR 13.1, opcode 0x25)
  A wider integer, extended by the sign or by zeros.

  operands
    from  tile of i4 or i1 or i8 or i16 or i32 or i64 values

  results
    to  tile of i4 or i1 or i8 or i16 or i32 or i64 values

  attributes
    signedness  one of unsigned, signed

  traits
    no effect, and may run at any time: removed when unused, merged, moved

  assembly
    $from $signedness attr-dict : type($from) -> type($to)
"""
    )


def test_operation_with_a_dollar_in_its_name_is_found(tilec: Any) -> None:
    assert tilec("dialect", "cuda_tile.preview$call").out.startswith("cuda_tile.preview$call (Tile IR 13.5, a preview")


def test_optional_and_later_fields_are_marked(tilec: Any) -> None:
    out = tilec("dialect", "cuda_tile.load_view_tko").out
    assert "    token  at most one: a token\n" in out
    assert "    index  any number: tile of i1 or i8 or i16 or i32 or i64 values\n" in out
    assert "    memory_scope               one of tl_blk, device, sys; optional\n" in out
    assert "    inbounds                   an array of booleans; optional; since 13.4\n" in out


def test_operations_of_ext_classes_are_described(tilec: Any) -> None:
    assert "  operand_0, operand_1 -> result_0\n" in tilec("dialect", "ptx.compute_1_2").out


def test_irdl_defines_every_dialect_once(tilec: Any, tmp_path: Path) -> None:
    printed = tilec("dialect", "--irdl")
    assert (printed.status, printed.err) == (0, "")
    written = tmp_path / "tilec.irdl.mlir"
    assert tilec("dialect", "--irdl", "-o", written).out == ""
    assert written.read_text() == printed.out
    separate = "".join(tilec("dialect", "--irdl", d.DIALECT_NAMESPACE).out for d in dialects())
    assert separate.count("irdl.operation") == printed.out.count("irdl.operation")


def test_irdl_loads_into_a_bare_context(tilec: Any) -> None:
    names = [dialect.DIALECT_NAMESPACE for dialect in dialects()]
    with ir.Context() as bare:
        text = tilec("dialect", "--irdl", "ptx", "ptx", "cuda_tile", "tilex", "tile_gpu").out
        irdl.load_dialects(ir.Module.parse(text))
        assert [bare.is_dialect_loaded(name) for name in names] == [True] * len(names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["spirv"], "unknown dialect 'spirv': expected one of cuda_tile, tilex, tile_gpu, ptx"),
        (
            ["cuda_tile.adds"],
            "unknown operation 'cuda_tile.adds': run 'tilec dialect cuda_tile' for the list of operations",
        ),
        (
            ["--irdl", "cuda_tile.addi"],
            "unknown dialect 'cuda_tile.addi': expected one of cuda_tile, tilex, tile_gpu, ptx",
        ),
    ],
)
def test_unknown_names_are_usage_errors(tilec: Any, arguments: list[str], message: str) -> None:
    outcome = tilec("dialect", *arguments)
    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"error: {message}\n")


def test_file_that_cannot_be_written_is_an_error(tilec: Any, tmp_path: Path) -> None:
    outcome = tilec("dialect", "--irdl", "-o", tmp_path)
    assert outcome.status == 1
    assert outcome.err.startswith("error: cannot write")
