"""The analysis of exits: whether control may leave the blocks around an operation; unknown operations may exit."""

from __future__ import annotations

from typing import Any

import pytest

from tilec.dialect.mlir import ir, register
from tilec.lowering.tile.terminators import may_be_left
from tilec.text_input.module import Module

HERE = "%here = addi %n, %n : tile<i32>"
FOR_HEADER = "for %i in (%n to %n, step %n) : tile<i32>"


def kernel(body: str) -> Module:
    module = Module.parse(f"cuda_tile.module @m {{ entry @k(%n: tile<i32>, %c: tile<i1>) {{ {body} }} }}")
    module.verify()
    return module


def find(module: ir.Module, name: str) -> Any:
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.extend([operation.opview] * (operation.name == name))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    (only,) = found
    return only


@pytest.mark.parametrize(
    "body",
    [
        HERE,
        f"{FOR_HEADER} {{ {HERE} }}",
        f"if %c {{ {HERE} }}",
        f"{FOR_HEADER} {{ if %c {{ {HERE} }} }}",
        # The exit is in another block, which does not contain the operation.
        f"{FOR_HEADER} {{ if %c {{ continue }} }} {HERE}",
        f"loop {{ if %c {{ break }} }} {HERE}",
    ],
)
def test_blocks_without_exits(body: str) -> None:
    module = kernel(body).ir
    assert not may_be_left(find(module, "cuda_tile.addi"))


@pytest.mark.parametrize(
    "body",
    [
        f"loop {{ {HERE} break }}",
        f"{HERE} if %c {{ return }}",
        f"if %c {{ return }} {HERE}",
        f"{FOR_HEADER} {{ if %c {{ continue }} {HERE} }}",
        f"if %c {{ {HERE} }} if %c {{ return }}",
        f"loop {{ {FOR_HEADER} {{ {HERE} }} if %c {{ break }} }}",
        # A return leaves all loops around it and skips the operations after them.
        f"loop {{ if %c {{ return }} break }} {HERE}",
        f"if %c {{ loop {{ if %c {{ return }} break }} }} {HERE}",
    ],
)
def test_blocks_with_exits(body: str) -> None:
    module = kernel(body).ir
    assert may_be_left(find(module, "cuda_tile.addi"))


@pytest.fixture
def user_context() -> ir.Context:
    created = register(ir.Context())
    created.allow_unregistered_dialects = True
    return created


def around(before: str, after: str) -> str:
    """A kernel of one addition with operations of any dialect around it, in the generic form."""
    text = kernel(HERE).to_text(generic=True)
    (line,) = (line for line in text.splitlines() if '"cuda_tile.addi"' in line)
    return text.replace(line, f"{before}\n{line}\n{after}")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", False),
        # The number of executions of the region of an unknown operation is unknown, and it may not complete.
        ('"other.around"() ({', "}) : () -> ()", True),
        # An operation of another dialect may not complete.
        ('"other.beside"() : () -> ()', "", True),
        ("", '"other.beside"() : () -> ()', True),
    ],
)
def test_operations_of_other_dialects_may_exit(
    user_context: ir.Context, before: str, after: str, expected: bool
) -> None:
    with user_context:
        module = ir.Module.parse(around(before, after))
        assert may_be_left(find(module, "cuda_tile.addi")) == expected


def test_operations_outside_of_a_kernel_may_exit(user_context: ir.Context) -> None:
    text = around("", "").replace("cuda_tile.entry", "other.kernel").replace("cuda_tile.return", "other.return")
    with user_context:
        module = ir.Module.parse(text)
        assert may_be_left(find(module, "cuda_tile.addi"))
