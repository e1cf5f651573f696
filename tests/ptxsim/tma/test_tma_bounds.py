"""Tensor copies at the bounds of shared memory, and the bytes of tensors that end within a copy.

Images that exceed shared memory trap before any of their rows is computed.
"""

from __future__ import annotations

import numpy as np
import pytest
from im2col_copies import PixelMap, load_body, numbered
from tensor_copies import load, multicast_load, store

from tilec.runtime.ptxsim import _native as ptxsim

# 16 bytes by 256 by 256 by 256 by 256: more than the memory of any machine.
LARGEST_BOX = (16, 256, 256, 256, 256)


@pytest.mark.parametrize("body", [load([0] * 5, 512), store([0] * 5, 512)], ids=["load", "store"])
def test_largest_box(simulate, encode_tensor_map, aligned, body):
    tensor = aligned(np.zeros(16, np.uint8))
    encoded = encode_tensor_map(tensor.ctypes.data, "u8", (16, 1, 1, 1, 1), (16,) * 4, LARGEST_BOX)
    with pytest.raises(ptxsim.Trap, match=f"with {16 * 256**4} bytes is outside the shared memory") as trap:
        simulate(body, encoded, np.zeros(512, np.uint8), map_targets=[tensor])
    assert trap.value.kind == "bounds"


@pytest.mark.parametrize(
    ("kind", "information", "rows"),
    [("im2col", (0,), 1024), ("im2col_w", (511, 0), 1024 + 511), ("im2col_w128", (31, 0), 128 + 4 * 31)],
)
def test_image_with_halo(simulate, encode_tensor_map, aligned, kind, information, rows):
    """PTX ISA 5.5.5.3: the halo of im2col::w follows all pixels, that of im2col::w::128 each 32 of them."""
    tensor = aligned(numbered(1, 4, 64))
    encoded = PixelMap(kind, [0], [0], 64, 1024, swizzle="128B").encode(encode_tensor_map, tensor)
    body = load_body(kind, (0, 0, 0), information, 128)
    with pytest.raises(ptxsim.Trap, match=f"with {128 * rows} bytes is outside the shared memory"):
        simulate(body, encoded, np.zeros(128, np.uint8), block=128, map_targets=[tensor], allow_unconfirmed=True)


def with_buffer_last(body: str) -> str:
    """The program with the buffer at the end of shared memory."""
    lines = body.splitlines(keepends=True)
    return "".join(sorted(lines, key=lambda line: ".shared .align 16 .b64" not in line))


@pytest.mark.parametrize("body", [load([0, 0], 16, offset=896), store([0, 0], 16, offset=896)], ids=["load", "store"])
def test_swizzle_of_the_last_span(simulate, encode_tensor_map, aligned, body):
    """A row of 16 bytes on the last line of a pattern of eight belongs at the end of its span of 128 bytes."""
    tensor = aligned(np.zeros((1, 16), np.uint8))
    encoded = encode_tensor_map(tensor.ctypes.data, "u8", (16, 1), (16,), (16, 1), swizzle="128B")
    one_thread = body.replace("\nst.shared", "\n@%p0 st.shared")
    with pytest.raises(ptxsim.Trap, match="with 128 bytes is outside the shared memory"):
        simulate(
            with_buffer_last(one_thread), encoded, np.zeros(512, np.uint8), map_targets=[tensor], allow_unconfirmed=True
        )


@pytest.mark.parametrize(
    ("column", "row", "inside"), [(0, 0, 8 * 16), (0, 6, 2 * 16), (0, -3, 5 * 16), (16, 0, 8 * 4), (32, 0, 0)]
)
def test_bytes_from_global_memory_are_those_of_the_tensor(simulate, encode_tensor_map, aligned, column, row, inside):
    """A box of 8 rows of 16 bytes fills 128 bytes of shared memory, of which those in the tensor are read."""
    tensor = aligned(np.zeros((8, 32), np.uint8))
    encoded = encode_tensor_map(tensor.ctypes.data, "u8", (20, 8), (32,), (16, 8))
    counters = simulate(load([column, row], 128), encoded, np.zeros(128, np.uint8), block=8, map_targets=[tensor])
    assert (counters["bulk_load_bytes"], counters["bulk_load_l2_bytes"]) == (128, inside)


def test_multicast_reads_global_memory_once(simulate, encode_tensor_map, aligned):
    tensor = aligned(np.zeros((8, 16), np.uint8))
    encoded = encode_tensor_map(tensor.ctypes.data, "u8", (16, 8), (16,), (16, 8))
    body = multicast_load([0, 6], 128, 128)
    counters = simulate(body, encoded, np.zeros(256, np.uint8), block=8, cluster=2, map_targets=[tensor])
    assert (counters["bulk_load_bytes"], counters["bulk_load_l2_bytes"]) == (2 * 128, 2 * 16)
