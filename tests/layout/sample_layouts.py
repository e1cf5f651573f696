"""Layouts for the tests of plans: those that are chosen in practice by name, and any others at random."""

from __future__ import annotations

from hypothesis import strategies as st

from tilec.lowering.layout.bit_matrix import BitMatrix
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout, parse_layout, unflatten
from tilec.lowering.layout.tensor_layout import tensor_memory_32x32b
from tilec.lowering.layout.wgmma import wgmma_accumulator

SWIZZLED = "register=(0,3)(1,2) lane=(2,1)(2,0)(0,4)(4,4)(0,8) warp=(0,17)(8,16) shape=16x32"
REPEATED = "register=(0,1)(0,0)(0,2) lane=(0,4)(1,0)(0,0)(2,0)(0,8) warp=(0,0)(0,16) shape=4x32"
CROSSED = "register=(0,1) lane=(0,2)(0,4)(1,0)(2,0)(0,2) warp=(1,8)(3,8)(1,0) shape=4x16"
LAYOUTS = {
    "rows": blocked((128, 64), 4, 1, 4),
    "columns": blocked((128, 64), 8, 0, 4),
    "small": blocked((4, 8), 4),
    "line": blocked((512,), 4),
    "wgmma": wgmma_accumulator((128, 32), 8),
    "tensor_memory": tensor_memory_32x32b((128, 64), 8),
    "swizzled": parse_layout(SWIZZLED),
    "repeated": parse_layout(REPEATED),
    "crossed": parse_layout(CROSSED),
}

BITS = 9
SHAPE = (16, 32)
WARP_BITS = 2


@st.composite
def layouts(draw) -> LinearLayout:
    """A surjective layout of 16 x 32 on four warps: random columns that span the index bits, some of them redundant."""
    columns: list[int] = []
    while not BitMatrix(tuple(columns), BITS).is_surjective:
        columns.append(draw(st.integers(0, (1 << BITS) - 1)) if len(columns) < 6 else 1 << len(columns) % BITS)
    columns += draw(st.lists(st.integers(0, (1 << BITS) - 1), max_size=2))
    columns += [0] * max(0, 5 + WARP_BITS - len(columns))
    shuffled = draw(st.permutations(columns))
    bases = [unflatten(column, SHAPE) for column in shuffled]
    lane, warp, register = bases[:5], bases[5 : 5 + WARP_BITS], bases[5 + WARP_BITS :]
    return LinearLayout(tuple(register), tuple(lane), tuple(warp), SHAPE)
