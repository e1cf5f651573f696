"""The prefetch of tilex: its assembly, what the verifier refuses, and what Tile IR without extensions cannot hold."""

from __future__ import annotations

import pytest

from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import read_module
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError
from tilec.lowering.tile.passes import run
from tilec.runtime.interpret.evaluate import evaluate

TENSOR = "tensor_view<16x24xi8, strides=[24,1]>"
TILES = f"partition_view<tile=(8x16), {TENSOR}>"
STEPS = f"strided_view<tile=(8x16), traversal_strides=[3,5], {TENSOR}>"
ROWS = f"gather_scatter_view<tile=(8x16), {TENSOR}, sparse_dim=0>"


def module_with(prefetch: str, view: str = TILES) -> str:
    kind = view.partition("<")[0]
    return f"""cuda_tile.module @m {{
  entry @k(%p: tile<ptr<i8>>, %i: tile<i32>, %l: tile<i64>) {{
    %t = make_tensor_view %p, shape = [16, 24], strides = [24, 1] : {TENSOR}
    %v = make_{kind} %t : {view}
    {prefetch}
    return
  }}
}}
"""


def read(text: str) -> ir.Module:
    module = read_module(text, "kernel.mlir")
    with context():
        module.operation.verify()
    return module


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize(("view", "index", "type"), [(TILES, "%i", "i32"), (STEPS, "%l", "i64")])
def test_round_trip(view: str, index: str, type: str, generic: bool) -> None:
    text = f"tilex.prefetch %v[{index}, {index}] : {view}, tile<{type}>"
    first = print_module(read(module_with(text, view)), generic=generic)
    assert "tilex.prefetch" in first
    assert print_module(read(first), generic=generic) == first


@pytest.mark.parametrize(
    ("text", "view", "message"),
    [
        (
            f"tilex.prefetch %v[%i] : {TILES}, tile<i32>",
            TILES,
            "expected 2 index operands (based on the view), but got 1",
        ),
        (f"tilex.prefetch %v[%i, %i] : {ROWS}, tile<i32>", ROWS, "a partition_view or strided_view"),
    ],
    ids=["one index", "rows"],
)
def test_refused(text: str, view: str, message: str) -> None:
    with pytest.raises(ir.MLIRError) as error:
        read(module_with(text, view))
    assert message in str(error.value)


def test_tile_ir_has_no_prefetch() -> None:
    module = read(module_with(f"tilex.prefetch %v[%i, %i] : {TILES}, tile<i32>"))
    with pytest.raises(InputError, match="tilex"):
        write_module(module)
    run(module, ("expand-tilex",), evaluate=evaluate)
    assert "tilex" not in print_module(module)
    assert write_module(module)
