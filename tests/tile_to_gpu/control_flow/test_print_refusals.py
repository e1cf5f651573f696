"""Formats and messages that the compiler refuses, at the line of the print or of the assertion."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilec
from tilec.errors import UnsupportedError

REFUSALS = {
    "%n": ("i32", "'%n' is not a printf directive for one number"),
    "%*d": ("i32", "'%*d' is not a printf directive for one number"),
    "%4096d": ("i32", "'%4096d' exceeds the limit of 4095 characters"),
    "%d": ("f32", "'%d' prints integers, got a float"),
    "%s": ("f32", "'%s' prints integers without a precision when compiled: use %d, %f or %g"),
    "%.2s": ("i32", "'%.2s' prints integers without a precision when compiled: use %d, %f or %g"),
    "%20p": ("i64", "'%20p' prints addresses without a width when compiled: use %p"),
    r"\00%u": ("i32", "expected a format without NUL characters"),
}


@pytest.mark.parametrize("form", REFUSALS, ids=lambda form: form.replace("\\", ""))
def test_format_is_refused_at_its_line(form: str, tmp_path: Path) -> None:
    element, message = REFUSALS[form]
    path = tmp_path / "kernel.mlir"
    path.write_text(
        f"cuda_tile.module @kernels {{\nentry @kernel(%n: tile<{element}>) {{\n"
        f'  %t = print_tko "{form}", %n : tile<{element}> -> token\n  return\n}}\n}}'
    )
    with pytest.raises(UnsupportedError) as raised:
        tilec.compile(path, target="sm_100a", stop="ptx")
    assert raised.value.message == f"cuda_tile.print_tko: {message}"
    assert raised.value.location is not None and raised.value.location.line == 3


def test_message_of_an_assertion_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "kernel.mlir"
    path.write_text(
        "cuda_tile.module @kernels {\nentry @kernel(%n: tile<i1>) {\n"
        '  assert %n, "cut\\00here" : tile<i1>\n  return\n}\n}'
    )
    with pytest.raises(UnsupportedError) as raised:
        tilec.compile(path, target="sm_100a", stop="ptx")
    assert raised.value.message == "cuda_tile.assert: expected a message without NUL characters"
    assert raised.value.location is not None and raised.value.location.line == 3
