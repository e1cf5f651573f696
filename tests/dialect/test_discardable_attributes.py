"""Discardable attributes are preserved, as in MLIR; declared attributes are verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import OPERATIONS
from tilec.errors import TilecError
from tilec.text_input.module import Module

FILES = sorted((Path(__file__).parent / "assembly").glob("*.mlir"))
files = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def operations(module: Module) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return [operation for operation in found if operation.name in OPERATIONS]


def generic(module: Module) -> str:
    return module.to_text(generic=True)


@files
def test_every_operation_preserves_discardable_attributes(path: Path) -> None:
    module = Module.read(path)
    with context():
        for number, operation in enumerate(operations(module)):
            operation.attributes["stray"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
            operation.attributes["my.fact"] = ir.UnitAttr.get()
    module.verify()
    text = module.to_text()
    again = Module.parse(text)
    assert generic(again) == generic(module)
    assert again.to_text() == text
    assert Module.parse(generic(module)).to_text() == text


def test_every_declared_attribute_of_the_wrong_kind_is_refused() -> None:
    seen: set[tuple[str, str]] = set()
    for path in FILES:
        module = Module.read(path)
        with context():
            for operation in operations(module):
                for name in operation.opview.attribute_fields:
                    if (operation.name, name) in seen:
                        continue
                    seen.add((operation.name, name))
                    kept = operation.attributes[name] if name in operation.attributes else None
                    operation.attributes[name] = ir.Attribute.parse("affine_map<(d0) -> (d0)>")
                    with pytest.raises(TilecError, match=f"attribute '{name}' (must|expect)"):
                        module.verify()
                    del operation.attributes[name]
                    if kept is not None:
                        operation.attributes[name] = kept
        module.verify()
    assert seen == {
        (name, each) for name, cls in OPERATIONS.items() for each in cls.attribute_fields if "cuda_tile" in name
    }


def warnings(body: str) -> list[str]:
    text = f"cuda_tile.module @m {{ entry @k(%a: tile<i32>) {{\n{body}\n}} }}"
    return [str(warning) for warning in Module.parse(text, "<slip>").warnings()]


def test_misspelt_field_is_a_warning() -> None:
    (warning,) = warnings('%0 = addi %a, %a {overflw = "no_wrap"} : tile<i32>')
    assert warning == (
        "<slip>:2:6: warning: 'cuda_tile.addi' op attribute 'overflw' has no effect: did you mean 'overflow'?\n"
        '    %0 = addi %a, %a {overflw = "no_wrap"} : tile<i32>\n'
        "         ^"
    )


@pytest.mark.parametrize("name", ["my.overflow", "note", "o"])
def test_other_discardable_names_have_no_warning(name: str) -> None:
    assert warnings(f'%0 = addi %a, %a {{"{name}"}} : tile<i32>') == []
