"""The registers of values that are live at once, counted by hand: 128x128 floats are 128 registers of 128 threads."""

from __future__ import annotations

import pytest

from tilec.lowering.gpu.memory.live_tiles import tile_peak
from tilec.text_input.stage_module import read_stage_module

HEAD = """
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32)(0,64) lane=(1,0)(2,0)(4,0)(8,0)(16,0) "
  "warp=(32,0)(64,0) shape=128x128"
#pairs = "register=(0,1) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x2"
#column = "register=(1,0)(2,0)(4,0)(8,0)(16,0)(32,0)(64,0) lane=(0,0)(0,0)(0,0)(0,0)(0,0) warp=(0,0)(0,0) shape=128x1"
!tile = tensor<128x128xf32, #rows>
!pairs = tensor<128x2xf32, #pairs>
!column = tensor<128x1xf32, #column>
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_90a" warps 4 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
"""


def access(text: str) -> str:
    return f"{text} extents [%n, %n] strides [%n, %one] vector 1"


def load(name: str, type: str = "!tile") -> str:
    return access(f"%{name} = tile_gpu.load_view %p[%zero, %zero]") + f' padding "zero" : {type}\n'


def store(name: str, type: str = "!tile") -> str:
    return access(f"tile_gpu.store_view %{name} -> %p[%zero, %zero]") + f" : {type}\n"


# A body, and the registers of its tiles; beside them are the address (two registers) and the extent.
BODIES = {
    "dead after its last use": (load("x") + store("x") + load("y") + store("y"), 128),
    "live at the same time": (load("x") + load("y") + store("x") + store("y"), 256),
    # Elements are computed where they are stored.
    "temporary": (load("x") + "%y = arith.addf %x, %x : !tile\n%z = arith.mulf %y, %y : !tile\n" + store("z"), 128),
    "live through a loop": (
        load("x") + "scf.for %i = %zero to %n step %one : i32 {\n" + load("y") + store("y") + "}\n" + store("x"),
        # The counter of the loop is one more.
        256,
    ),
    "one branch at a time": (
        "%c = arith.cmpi slt, %n, %one : i32\n"
        "scf.if %c {\n" + load("x") + store("x") + "} else {\n" + load("y") + store("y") + "}\n",
        128,
    ),
    # Each thread gets a whole column, of which it had two elements.
    "parts with more elements": (
        load("w", "!pairs")
        + "".join(
            f"%{x} = tile_gpu.extract %w[%zero, %{n}] : !pairs -> !column\n" for x, n in (("x", "zero"), ("y", "one"))
        )
        + store("x", "!column")
        + store("y", "!column"),
        256,
    ),
    "constants": ("%x = arith.constant dense<1.0> : !tile\n" + store("x"), 0),
}


@pytest.mark.parametrize("name", BODIES)
def test_registers_of_tiles(name: str) -> None:
    body, tiles = BODIES[name]
    module = read_stage_module(HEAD + body + "}\n", "<k>")
    peak = tile_peak(module.body.operations[0].body.blocks[0])
    assert tiles <= peak.registers <= tiles + 4 and peak.largest == min(tiles, 128) or not tiles


def test_values_of_the_peak() -> None:
    """Both tiles are live at the store of the first, 128 registers each."""
    module = read_stage_module(HEAD + BODIES["live at the same time"][0] + "}\n", "<k>")
    peak = tile_peak(module.body.operations[0].body.blocks[0])
    tiles = [(value.owner.name, registers) for value, registers in peak.values if registers == 128]
    assert tiles == [("tile_gpu.load_view", 128)] * 2
    assert sum(registers for _, registers in peak.values) == peak.registers


def test_the_margin_is_half_of_the_values_beside_the_largest_and_at_most_a_quarter_of_it() -> None:
    """131 registers of which 128 are one tile: 1 more for temporaries, 26 for addresses and predicates."""
    module = read_stage_module(HEAD + BODIES["dead after its last use"][0] + "}\n", "<k>")
    peak = tile_peak(module.body.operations[0].body.blocks[0])
    assert (peak.registers, peak.needed) == (131, 131 + 1 + 26)
