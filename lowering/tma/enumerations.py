"""The enumerated fields of tensor maps: kind, swizzle, interleave, fill and L2 promotion.

Source: CUDA driver API, "Tensor Map Object Management"; PTX ISA 5.5.2 and 5.5.7.
"""

from __future__ import annotations

from tilec.frozen import Frozen


class Kind(Frozen):
    """A kind of tensor map.

    Attributes:
        function: the function of the driver that encodes it.
        code: the number of the kind in maps for the simulator.
        mode: the CUtensorMapIm2ColWideMode, None for the other functions.
    """

    function: str
    code: int
    mode: int | None = None


KINDS: dict[str, Kind] = {
    "tiled": Kind("cuTensorMapEncodeTiled", 0),
    "im2col": Kind("cuTensorMapEncodeIm2col", 1),
    "im2col_w": Kind("cuTensorMapEncodeIm2colWide", 2, mode=0),
    "im2col_w128": Kind("cuTensorMapEncodeIm2colWide", 3, mode=1),
}
IM2COL_KINDS = ("im2col", "im2col_w", "im2col_w128")
# The kinds whose pixels lie along W and N only.
WIDE_KINDS = ("im2col_w", "im2col_w128")


class Swizzle(Frozen):
    """A shared-memory swizzle.

    Attributes:
        host_enumerator: the CUtensorMapSwizzle, None for a swizzle that has none.
        code: the swizzle mode in the encoded map.
        atomicity: the swizzle atomicity in the encoded map.
        span_bytes: the maximum size of a row of the box.
    """

    host_enumerator: int | None
    code: int
    atomicity: int
    span_bytes: int


# The combinations of mode and atomicity of PTX ISA 5.5.7, table "Valid combination of swizzle-atomicity".
SWIZZLES: dict[str, Swizzle] = {
    "none": Swizzle(0, 0, 0, 0),
    "32B": Swizzle(1, 1, 0, 32),
    "64B": Swizzle(2, 2, 0, 64),
    "96B": Swizzle(None, 0, 0, 96),
    "128B": Swizzle(3, 3, 0, 128),
    "128B_atom_32B": Swizzle(4, 3, 1, 128),
    "128B_atom_32B_flip_8B": Swizzle(5, 3, 2, 128),
    "128B_atom_64B": Swizzle(6, 3, 3, 128),
}
INTERLEAVES = {"none": 0, "16B": 1, "32B": 2}
FILLS = {"zero": 0, "nan": 1}
L2_PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
