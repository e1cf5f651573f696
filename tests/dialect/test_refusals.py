"""Every rule of Tile IR has an error with the location of the operation and types in assembly spelling.

A file of `refusals/` has bodies of kernels, separated by `// -----`; `// expected-error: message` precedes the line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.errors import TilecError
from tilec.text_input.module import Module

# Values that the bodies may use, all on the first line, so that a body starts on the second line.
HEADER = """cuda_tile.module @m { entry @k(%i: tile<i32>, %l: tile<i64>, %c: tile<i1>, %p: tile<ptr<f32>>) {\
 %f = constant <f32: 1.0> : tile<4x8xf32> %h = constant <f16: 1.0> : tile<4x8xf16>\
 %n = constant <i32: 1> : tile<4x8xi32> %m = constant <i1: true> : tile<4x8xi1> %s = constant <f32: 1.0> : tile<f32>\
 %v = iota : tile<8xi32> %t = make_token : token\
 %tv = make_tensor_view %p, shape = [64, 16], strides = [16, 1] : tensor_view<64x16xf32, strides=[16,1]>\
 %pv = make_partition_view %tv : partition_view<tile=(4x8), tensor_view<64x16xf32, strides=[16,1]>>
"""
FOOTER = "\n} }\n"
MARK = "// expected-error: "


def _cases() -> list[object]:
    found = []
    for path in sorted((Path(__file__).parent / "refusals").glob("*.mlir")):
        for index, body in enumerate(path.read_text().split("// -----\n")):
            found.append(pytest.param(body, id=f"{path.stem}-{index}"))
    return found


@pytest.mark.parametrize("body", _cases())
def test_violation_is_refused_at_its_line(body: str) -> None:
    lines = body.splitlines()
    (at,) = [index for index, line in enumerate(lines) if line.startswith(MARK)]
    with pytest.raises(TilecError) as caught:
        Module.parse(HEADER + body + FOOTER, "refused.mlir")
    error = caught.value
    assert lines[at].removeprefix(MARK) in error.message
    assert error.location is not None
    assert (error.location.file, error.location.line) == ("refused.mlir", at + 3)
    assert "!cuda_tile" not in error.message
