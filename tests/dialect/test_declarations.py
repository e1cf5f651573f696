"""Mistakes in the declaration of an operation are reported when its class is made, or when it is first printed."""

from __future__ import annotations

import pytest

from tilec.dialect import mlir
from tilec.dialect.assembly.template import compile_template
from tilec.dialect.fields import Region, field_of, since


@pytest.mark.parametrize(
    ("assembly", "message"),
    [
        ("$x", "t.x: no field 'x' for its assembly line"),
        ("attr-dict }", "t.x: unbalanced braces in its assembly line"),
        ("attr-dict { : ", "t.x: unbalanced braces in its assembly line"),
    ],
)
def test_assembly_line(assembly: str, message: str) -> None:
    made = type("Op", (), {"OPERATION_NAME": "t.x", "assembly": assembly, "fields": ()})
    with pytest.raises(ValueError) as caught:
        compile_template(made)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("annotation", "default", "message"),
    [
        (Region, since("13.3"), "region 'body' cannot be younger than its operation"),
        (int, None, "'body' declares neither operand, result, attribute nor region: <class 'int'>"),
    ],
)
def test_field(annotation: object, default: object, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        field_of("body", annotation, default)
    assert str(caught.value) == message


def test_bindings_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlir, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs the MLIR Python bindings: install `torch-mlir`"):
        mlir._package()
