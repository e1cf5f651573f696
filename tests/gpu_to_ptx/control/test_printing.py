"""tile_gpu.print: the text is that of Python's formatting, in row-major order, for every layout and size of a tile."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import kernel, load_tile, ptx_of, run, tile

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout
from tilec.lowering.layout.wgmma import wgmma_accumulator


def nested(values: np.ndarray, form: str) -> str:
    """Each row in brackets."""
    if not values.ndim:
        return form % values.item()
    return f"[{', '.join(nested(row, form) for row in values)}]"


def printed(text: str, arguments: list, **options) -> str:
    pieces: list[str] = []
    run(text, arguments, print=pieces.append, **options)
    return "".join(pieces)


def print_tiles(form: str, tiles: list[tuple[np.ndarray, str, LinearLayout]], target: str, **options) -> str:
    types = [tile(element, layout) for _, element, layout in tiles]
    operands = ", ".join(f"%x{number}" for number in range(len(tiles)))
    segments = [1] * len(tiles) + [0] * (256 - len(tiles))
    loads = [load_tile(f"%x{i}", type, f"%a{i}", tiles[i][2].shape) for i, type in enumerate(types)]
    body = (
        f'"tile_gpu.print"({operands}) {{format = "{form}", operandSegmentSizes = array<i32: '
        f"{', '.join(map(str, segments))}>}} : ({', '.join(types)}) -> ()"
    )
    text = kernel(", ".join(f"%a{i}: i64" for i in range(len(tiles))), "\n".join([*loads, body]), target=target)
    return printed(text, [values for values, _, _ in tiles], **options)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(
    "layout",
    [
        blocked((1,), 4),
        blocked((2,), 4),
        blocked((8,), 4),
        blocked((512,), 4),
        blocked((4, 1), 4),
        blocked((1, 4), 4),
        blocked((2, 4, 1, 2), 4),
        blocked((16, 8), 4, 0, 2),
        wgmma_accumulator((64, 16), 4),
        parse_layout("register=(3)(64) lane=(1)(4)(8)(16)(32) warp=(0)(0) shape=128"),
    ],
    ids=lambda layout: "x".join(map(str, layout.shape)),
)
def test_elements_in_row_major_order(layout: LinearLayout, target: str) -> None:
    values = np.arange(layout.size, dtype=np.int32).reshape(layout.shape) - 3
    assert print_tiles("<%d>", [(values, "i32", layout)], target) == f"<{nested(values, '%d')}>"


@pytest.mark.parametrize("seed", range(4))
def test_tile_larger_than_a_slot_is_printed_in_parts(seed: int) -> None:
    """4096 bytes of scratch memory have 1024 elements of f32: this tile has four parts, the second has one."""
    large, small = blocked((64, 64), 4, 1, 4), blocked((1024,), 4)
    x = np.arange(4096, dtype=np.float32).reshape(64, 64)
    y = np.arange(1024, dtype=np.float32) / 2
    text = print_tiles("%.1f|%g\\0A", [(x, "f32", large), (y, "f32", small)], "sm_100a", seed=seed)
    assert text == f"{nested(x, '%.1f')}|{nested(y, '%g')}\n"


def test_prints_in_a_loop_reuse_scratch_memory() -> None:
    layout = blocked((256,), 4)
    segments = ", ".join(["1", "1", *["0"] * 254])
    body = f"""%zero = arith.constant 0 : i32
%one = arith.constant 1 : i32
%three = arith.constant 3 : i32
%r = scf.for %i = %zero to %three step %one iter_args(%t = %x0) -> ({tile("i32", layout)}) : i32 {{
  "tile_gpu.print"(%i, %t) {{format = "%d:%d ", operandSegmentSizes = array<i32: {segments}>}}
    : (i32, {tile("i32", layout)}) -> ()
  %next = arith.addi %t, %t : {tile("i32", layout)}
  scf.yield %next : {tile("i32", layout)}
}}"""
    x = np.arange(256, dtype=np.int32)
    text = kernel("%a0: i64", "\n".join([load_tile("%x0", tile("i32", layout), "%a0", (256,)), body]))
    assert printed(text, [x]) == "".join(f"{i}:{nested(x << i, '%d')} " for i in range(3))


def test_more_scalars_than_a_call_takes() -> None:
    """Nine numbers of three types: CUDA's vprintf takes 32, an instruction of the dialect ptx fewer."""
    names = [f"%{kind}{i}" for i in range(3) for kind in ("i", "l", "d")]
    declared = [f"%i{i} = arith.constant {i} : i32\n%l{i} = arith.constant {2**40 + i} : i64" for i in range(3)]
    declared += [f"%d{i} = arith.constant {i}.5 : f64" for i in range(3)]
    segments = ", ".join(["1"] * 9 + ["0"] * 247)
    body = (
        f'"tile_gpu.print"({", ".join(names)}) {{format = "{"%d %d %f;" * 3}", '
        f"operandSegmentSizes = array<i32: {segments}>}} : ({', '.join(['i32, i64, f64'] * 3)}) -> ()"
    )
    expected = "".join(f"{i} {2**40 + i} {i + 0.5:f};" for i in range(3))
    assert printed(kernel("%a: i64", "\n".join([*declared, body])), [np.zeros(1)]) == expected


def test_equal_texts_are_declared_once() -> None:
    segments = ", ".join(["0"] * 256)
    body = f'"tile_gpu.print"() {{format = "100%%", operandSegmentSizes = array<i32: {segments}>}} : () -> ()'
    ptx = ptx_of(kernel("%a: i64", f"{body}\n{body}"))
    assert ptx.count(".b8 tilec_text_") == 1 and ptx.count("vprintf, (format, arguments)") == 2
