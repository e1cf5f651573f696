"""pack and unpack: the bytes of tiles of all widths, and elements of 4 bits in shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import elementwise, kernel, load_tile, run, store_tile, tile

from tilec.errors import CompileError
from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import divided

TARGETS = ["sm_100a", "sm_90a"]
BYTES = blocked((16, 64), 4, 1, 8)
# The bits of an element, and numpy's type of arrays of them, for elements of whole bytes.
WHOLE = {
    "i16": np.uint16, "bf16": np.uint16, "i32": np.uint32, "f32": np.uint32, "tf32": np.uint32, "i64": np.uint64,
    "f64": np.uint64,
}  # fmt: skip


def random_bytes(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)


def repacked(name: str, source: str, target: str) -> str:
    return f'{{}} = "tile_gpu.{name}"({{}}) {{{{dimension = {{}} : i32}}}} : ({source}) -> {target}'


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("element", WHOLE)
def test_bytes_of_wide_elements(target, element, dimension):
    """Little-endian along the dimension, and back."""
    size = np.dtype(WHOLE[element]).itemsize
    layout = LinearLayout(BYTES.register[:4], BYTES.lane, BYTES.warp, BYTES.shape)
    fine = divided(layout, dimension, size)
    text = repacked("pack", tile(element, layout), tile("i8", fine)).format("%y", "%x0", dimension)
    x = random_bytes((*layout.shape, size)).view(WHOLE[element])[..., 0]
    y = np.zeros(fine.shape, np.uint8)
    run(elementwise(text, [(element, layout)], ("i8", fine), target=target), [x, y])
    exact = np.moveaxis(x.view(np.uint8).reshape(*layout.shape, size), 2, dimension + 1).reshape(fine.shape)
    assert np.array_equal(y, exact)
    back = repacked("unpack", tile("i8", fine), tile(element, layout)).format("%y", "%x0", dimension)
    z = np.zeros(layout.shape, WHOLE[element])
    run(elementwise(back, [("i8", fine)], (element, layout), target=target), [y, z])
    assert np.array_equal(z, x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("parts", [2, 8], ids=["i4", "i1"])
def test_elements_in_bytes(target, parts, dimension):
    """The first element is in the low bits: unpacked elements are extended to i8, and packed again."""
    element, bits = {2: ("i4", 4), 8: ("i1", 1)}[parts]
    fine = divided(BYTES, dimension, parts)
    body = "\n".join(
        [
            repacked("unpack", tile("i8", BYTES), tile(element, fine)).format("%e", "%x0", dimension),
            f"%wide = arith.extui %e : {tile(element, fine)} to {tile('i8', fine)}",
            store_tile("%wide", tile("i8", fine), "%a1", fine.shape),
            f"%narrow = arith.trunci %wide : {tile('i8', fine)} to {tile(element, fine)}",
            repacked("pack", tile(element, fine), tile("i8", BYTES)).format("%y", "%narrow", dimension),
        ]
    )
    lines = [
        load_tile("%x0", tile("i8", BYTES), "%a0", BYTES.shape),
        body,
        store_tile("%y", tile("i8", BYTES), "%out", BYTES.shape),
    ]
    x, wide, y = random_bytes(BYTES.shape), np.zeros(fine.shape, np.uint8), np.zeros(BYTES.shape, np.uint8)
    run(kernel("%a0: i64, %a1: i64, %out: i64", "\n".join(lines), target=target), [x, wide, y])
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    elements = x[..., None] >> shifts & np.uint8((1 << bits) - 1)
    assert np.array_equal(wide, np.moveaxis(elements, 2, dimension + 1).reshape(fine.shape))
    assert np.array_equal(y, x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_two_elements_per_byte_in_shared_memory(target, swizzle):
    """A buffer of 64x256 elements of 4 bits has rows of 128 bytes; another layout reads what one has written."""
    rows, columns = (blocked((64, 128), 4, 1, 16), blocked((64, 128), 4, 0, 1))
    written, read = (tile("f4E2M1FN", divided(layout, 1, 2)) for layout in (rows, columns))
    buffer = f'!tile_gpu.buffer<array<i64: 64, 256>, f4E2M1FN, "shared", "contiguous=1 swizzle={swizzle}">'
    lines = [
        load_tile("%x", tile("i8", rows), "%a", rows.shape),
        repacked("unpack", tile("i8", rows), written).format("%e", "%x", 1),
        f'%b = "tile_gpu.shared"() {{operandSegmentSizes = array<i32: 0>}} : () -> {buffer}',
        f'"tile_gpu.store_shared"(%e, %b) : ({written}, {buffer}) -> ()',
        '"tile_gpu.barrier"() : () -> ()',
        f'%f = "tile_gpu.load_shared"(%b) : ({buffer}) -> {read}',
        repacked("pack", read, tile("i8", columns)).format("%y", "%f", 1),
        store_tile("%y", tile("i8", columns), "%out", columns.shape),
    ]
    x, y = random_bytes(rows.shape), np.zeros(rows.shape, np.uint8)
    run(kernel("%a: i64, %out: i64", "\n".join(lines), target=target), [x, y])
    assert np.array_equal(y, x)


def test_threads_that_share_a_byte_are_refused():
    layout = blocked((128,), 4)
    text = repacked("pack", tile("i4", layout), tile("i8", blocked((64,), 4))).format("%y", "%z", 0)
    body = f"%z = arith.constant dense<1> : {tile('i4', layout)}\n{text}"
    with pytest.raises(CompileError, match="expected a thread to hold 2 successive elements along 0"):
        run(elementwise(body, [], ("i8", blocked((64,), 4))), [np.zeros(64, np.uint8)])
