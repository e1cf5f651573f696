"""Tensor maps on both sides of each rule of TMA, which tests and docs/tensor_maps.md read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilec.lowering.tma.tensor_map import TensorMap

# A row-major f16 matrix of 100x200 with a row stride of 400 bytes, in boxes of 32x64.
MATRIX = TensorMap("f16", (200, 100), (400,), (64, 32), (1, 1), base=0x1000, swizzle="128B")
CUBE = TensorMap("f16", (64, 8, 8), (128, 1024), (8, 8, 8), (1, 1, 1), base=0x1000, interleave="16B")
U4 = TensorMap("u4_align16b", (256, 8), (128,), (128, 8), (1, 1), base=0x1000, swizzle="128B")
U6 = TensorMap("u6_align16b", (256, 8), (192,), (128, 8), (1, 1), base=0x1000, swizzle="128B")
# f16 images NWC, NHWC and NDHWC of 64 channels, in columns of 64 pixels of a 3-wide window with padding 1.
NWC = TensorMap(
    "f16", (64, 32, 4), (128, 4096), (), (1, 1, 1), base=0x1000, swizzle="128B",
    kind="im2col", lower=(-1,), upper=(-1,), channels_per_pixel=64, pixels_per_column=64,
)  # fmt: skip
NHWC = replace(
    NWC, extents=(64, 32, 30, 4), strides=(128, 4096, 4096 * 30), element_strides=(1,) * 4,
    lower=(-1, -1), upper=(-1, -1),
)  # fmt: skip
NDHWC = replace(
    NWC, extents=(64, 32, 30, 9, 4), strides=(128, 4096, 4096 * 30, 4096 * 270), element_strides=(1,) * 5,
    lower=(-1,) * 3, upper=(-1,) * 3,
)  # fmt: skip
W = replace(NHWC, kind="im2col_w", lower=(-1,), upper=(-1,))
W128 = replace(W, kind="im2col_w128", pixels_per_column=128)


@dataclass(frozen=True)
class Case:
    """A legal and an illegal map of one rule, and what the violation says."""

    rule: str
    legal: TensorMap
    illegal: TensorMap
    field: str
    expected: str
    found: str
    dimension: int | None = None
    target: str = "sm_100a"

    @property
    def name(self) -> str:
        """Rule, element, kind, rank, field and value, which identify the case."""
        field = self.field if self.dimension is None else f"{self.field}[{self.dimension}]"
        shape = f"{self.illegal.kind} {self.illegal.rank}D {self.illegal.element}"
        swizzle = "" if self.illegal.swizzle == "none" else f" {self.illegal.swizzle}"
        return f"{self.rule}: {shape}{swizzle}, {field} {self.found}"


def _of(rank: int) -> dict[str, tuple[int, ...]]:
    return {
        "extents": (64,) * rank,
        "strides": (32,) * (rank - 1),
        "box": (64,) + (1,) * (rank - 1),
        "element_strides": (1,) * rank,
    }


def _cases() -> Iterator[Case]:
    yield from _shapes()
    yield from _memory()
    yield from _boxes()
    yield from _elements()
    yield from _interleaves()
    yield from _swizzles()
    yield from _corners()
    yield from _pixels()


def _shapes() -> Iterator[Case]:
    five, six = (replace(MATRIX, **_of(rank)) for rank in (5, 6))
    yield Case("rank", five, six, "rank", "1 to 5 dimensions", "6")
    two = {"extents": (64, 32), "strides": (128,), "element_strides": (1, 1)}
    for images, short in (
        (NWC, replace(NWC, **two, lower=(), upper=())),
        (W, replace(W, **two)),
        (W128, replace(W128, **two)),
    ):
        yield Case("rank", images, short, "rank", "3 to 5 dimensions", "2")
    for legal, field, values, expected in (
        (MATRIX, "box", (64,), "2 values"),
        (MATRIX, "strides", (), "1 value"),
        (MATRIX, "element_strides", (1,), "2 values"),
        (MATRIX, "lower", (0,), "0 values"),
        (NWC, "box", (64, 8, 8), "0 values"),
        (NWC, "lower", (), "1 value"),
        (NHWC, "lower", (0,), "2 values"),
        (NDHWC, "upper", (0, 0), "3 values"),
        (W, "lower", (0, 0), "1 value"),
        (W128, "upper", (0, 0), "1 value"),
    ):
        illegal = replace(legal, **{field: values})
        yield Case("number_of_values", legal, illegal, field, expected, str(len(values)))


def _memory() -> Iterator[Case]:
    for legal, base, bytes in (
        (replace(MATRIX, base=0x1010), 0x1008, 16),
        (replace(NHWC, base=0x1010), 0x1008, 16),
        (replace(U4, base=0x1020), 0x1010, 32),
        (replace(U6, base=0x1020), 0x1010, 32),
        (replace(CUBE, base=0x1020, interleave="32B", swizzle="32B"), 0x1010, 32),
    ):
        expected = f"an address that is a multiple of {bytes} bytes"
        yield Case("base_alignment", legal, replace(legal, base=base), "base", expected, f"{base:#x}")
    one = replace(MATRIX, extents=(200, 1))
    for extent in (0, -1, 2**32 + 1):
        illegal = replace(MATRIX, extents=(200, extent))
        yield Case("extent_range", one, illegal, "extents", "1 to 2**31 elements", str(extent), 1)
    legal, illegal = (replace(MATRIX, extents=(extent, 1)) for extent in (2**31, 2**31 + 1))
    expected = "at most 2**31 elements, the limit of CUDA 13.5"
    yield Case("large_extent", legal, illegal, "extents", expected, str(2**31 + 1), 0)
    for legal, extent, group in (
        (U4, 192, 128),
        (U6, 192, 128),
        (replace(MATRIX, element="u4_align8b", swizzle="none", extents=(202, 100)), 201, 2),
    ):
        illegal = replace(legal, extents=(extent, *legal.extents[1:]))
        expected = f"a multiple of {group} elements of {legal.element}"
        yield Case("packed_extent", legal, illegal, "extents", expected, str(extent), 0)
    interleaved = replace(CUBE, interleave="32B", swizzle="32B")
    for legal, good, bad, bytes in (
        (MATRIX, 2**40 - 16, 2**40, 16),
        (MATRIX, 416, 408, 16),
        (MATRIX, 16, -16, 16),
        (NWC, 144, 136, 16),
        (U4, 160, 144, 32),
        (U6, 224, 208, 32),
        (interleaved, 160, 144, 32),
    ):
        maps = (replace(legal, strides=(stride, *legal.strides[1:])) for stride in (good, bad))
        expected = f"a multiple of {bytes} bytes from 0 to 2**40"
        yield Case("stride_range", *maps, "strides", expected, f"{bad} bytes", 1)
    expected = "a positive stride, because broadcasting by stride 0 is undocumented"
    yield Case("broadcast", MATRIX, replace(MATRIX, strides=(0,)), "strides", expected, "0", 1)


def _boxes() -> Iterator[Case]:
    for good, bad in ((256, 257), (1, 0)):
        legal, illegal = (replace(MATRIX, box=(64, extent)) for extent in (good, bad))
        yield Case("box_range", legal, illegal, "box", "1 to 256 elements", str(bad), 1)
    for element, good, bad, bytes in (("f16", 8, 12, "24"), ("u8", 16, 24, "24"), ("u4_align8b", 32, 33, "16.5")):
        legal, illegal = (replace(MATRIX, element=element, swizzle="none", box=(row, 32)) for row in (good, bad))
        expected = "rows that are a multiple of 16 bytes"
        yield Case("row_granule", legal, illegal, "box", expected, f"{bytes} bytes", 0)
    for legal in (U4, U6):
        illegal = replace(legal, box=(64, 8))
        yield Case("padded_row", legal, illegal, "box", f"exactly 128 elements of {legal.element}", "64", 0)
    for legal, dimension in ((MATRIX, 1), (CUBE, 0), (NHWC, 1), (NHWC, 2), (W, 1)):
        for good, bad in ((8, 9), (1, 0)):
            maps = (_with_element_stride(legal, dimension, stride) for stride in (good, bad))
            yield Case("element_stride_range", *maps, "element_strides", "1 to 8", str(bad), dimension)
    for legal in (MATRIX, NHWC):
        illegal = _with_element_stride(legal, 0, 2)
        yield Case("contiguous_element_stride", legal, illegal, "element_strides", "1 without interleave", "2", 0)
    for legal in (NWC, NDHWC, W, W128):
        last = legal.rank - 1
        illegal = _with_element_stride(legal, last, 2)
        expected = "1 along N, because other strides are undocumented"
        yield Case("element_stride_of_images", legal, illegal, "element_strides", expected, "2", last)


def _with_element_stride(tensor_map: TensorMap, dimension: int, stride: int) -> TensorMap:
    strides = list(tensor_map.element_strides)
    strides[dimension] = stride
    return replace(tensor_map, element_strides=tuple(strides))


def _elements() -> Iterator[Case]:
    floats = {"f16": "u16", "bf16": "i8", "f32": "i32", "f32_ftz": "u32", "tf32": "i64", "tf32_ftz": "u64", "f64": "u8"}
    for element, other in (*floats.items(), ("f16", "u4_align8b")):
        legal = replace(MATRIX, element=element, swizzle="none", box=(32, 32), fill="nan")
        yield _nan_case(legal, replace(legal, element=other))
    for illegal in (replace(U4, fill="nan"), replace(U6, fill="nan")):
        yield _nan_case(replace(illegal, fill="zero"), illegal)
    for illegal in (U4, U6, replace(MATRIX, element="u4_align8b", swizzle="none")):
        expected = "an element type of whole bytes on sm_90a"
        yield Case("packed_elements_of_target", MATRIX, illegal, "element", expected, illegal.element, target="sm_90a")


def _nan_case(legal: TensorMap, illegal: TensorMap) -> Case:
    expected = "zero for elements other than floats"
    return Case("fill_of_elements", legal, illegal, "fill", expected, f"nan for {illegal.element}")


def _interleaves() -> Iterator[Case]:
    for interleave in ("16B", "32B"):
        swizzle = "32B" if interleave == "32B" else "none"
        cube = replace(CUBE, interleave=interleave, swizzle=swizzle)
        for rank, illegal in ((1, replace(cube, **_of(1))), (2, replace(cube, **_of(2)))):
            legal = replace(cube, **_of(rank + 3 if rank == 1 else 5))
            expected = "none with less than 3 dimensions"
            yield Case("interleave_rank", legal, illegal, "interleave", expected, interleave)
    legal, illegal = replace(CUBE, interleave="32B", swizzle="32B"), replace(CUBE, interleave="32B", swizzle="64B")
    yield Case("swizzle_of_interleave", legal, illegal, "swizzle", "32B with interleave 32B", "64B")
    for legal in (W, W128):
        illegal = replace(legal, interleave="16B")
        expected = f"none for kind {legal.kind}"
        yield Case("interleave_of_wide_kinds", legal, illegal, "interleave", expected, "16B")
    packed = replace(U6, extents=(128, 8, 8), strides=(96, 768), box=(128, 8, 8), element_strides=(1,) * 3)
    illegal = replace(packed, interleave="16B")
    yield from _interleaved_packed_elements()
    yield Case("interleave_of_packed_elements", packed, illegal, "interleave", "none for u6_align16b", "16B")


def _interleaved_packed_elements() -> Iterator[Case]:
    boxes = replace(CUBE, element="u4_align8b", extents=(32, 8, 8), box=(32, 8, 8))
    pixels = replace(
        NHWC, element="u4_align8b", extents=(32, 32, 30, 4), channels_per_pixel=32, interleave="16B", swizzle="none"
    )
    for legal, field, dimension in ((boxes, "box", 0), (pixels, "channels_per_pixel", None)):
        illegal = replace(legal, **{field: (31, 8, 8) if field == "box" else 31})
        yield Case("row_of_packed_elements", legal, illegal, field, "rows of whole bytes", "15.5 bytes", dimension)
        illegal = _with_element_stride(legal, 0, 2)
        expected = "1 for u4_align8b, whose elements share bytes"
        yield Case("element_stride_of_packed_elements", legal, illegal, "element_strides", expected, "2", 0)


def _swizzles() -> Iterator[Case]:
    expected = "a swizzle that the target has; 96B is of sm_103a alone"
    narrow = replace(MATRIX, box=(48, 32))
    yield Case(
        "swizzle_96b", replace(narrow, swizzle="none"), replace(narrow, swizzle="96B"), "swizzle", expected, "96B"
    )
    for swizzle in ("128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"):
        illegal = replace(MATRIX, swizzle=swizzle)
        expected = "16-byte atoms on sm_90a"
        yield Case("swizzle_atomicity_of_target", MATRIX, illegal, "swizzle", expected, swizzle, target="sm_90a")
    for legal, swizzles, allowed in (
        (replace(U4, swizzle="128B_atom_32B"), ("32B", "64B", "128B_atom_32B_flip_8B", "128B_atom_64B"), ""),
        (replace(U6, swizzle="128B_atom_64B"), ("32B", "64B", "128B_atom_32B_flip_8B"), ", 128B_atom_64B"),
    ):
        for swizzle in swizzles:
            expected = f"one of none, 128B, 128B_atom_32B{allowed} for {legal.element}"
            yield Case(
                "swizzle_of_padded_elements", legal, replace(legal, swizzle=swizzle), "swizzle", expected, swizzle
            )
    for legal in (W, W128):
        for swizzle, channels in (("none", 64), ("32B", 16), ("128B_atom_32B_flip_8B", 64), ("128B_atom_64B", 64)):
            illegal = replace(legal, swizzle=swizzle, channels_per_pixel=channels)
            expected = f"one of 64B, 128B, 128B_atom_32B for kind {legal.kind}"
            atoms = replace(legal, swizzle="128B_atom_32B")
            yield Case("swizzle_of_wide_kinds", atoms, illegal, "swizzle", expected, swizzle)
    for swizzle, span in (("32B", 32), ("64B", 64), ("128B", 128), ("128B_atom_64B", 128)):
        for field, dimension, kind in (("box", 0, MATRIX), ("channels_per_pixel", None, NHWC)):
            maps = []
            for bytes in (span, span + 16, span - 16):
                row = (bytes // 2, 32) if field == "box" else bytes // 2
                maps.append(replace(kind, swizzle=swizzle, **{field: row}))
            expected = f"rows of at most {span} bytes with swizzle {swizzle}"
            yield Case("swizzle_span", maps[0], maps[1], field, expected, f"{span + 16} bytes", dimension)
            expected = f"rows of {span} bytes with swizzle {swizzle}, because shorter rows are undocumented"
            yield Case("short_swizzled_row", maps[0], maps[2], field, expected, f"{span - 16} bytes", dimension)


# PTX ISA 5.5.4.1: the corner sizes of 3D, 4D and 5D tensors.
CORNER_LIMITS = ((NWC, 2**15), (NHWC, 2**7), (NDHWC, 2**4), (W, 2**15), (W128, 2**15))


def _corners() -> Iterator[Case]:
    for images, limit in CORNER_LIMITS:
        # Extents for which each corner leaves a position in the box.
        wide = replace(images, extents=(64, *(2**17 for _ in images.extents[2:]), 4))
        for index, field in ((index, field) for index in range(wide.corner_rank) for field in ("lower", "upper")):
            for good, bad in ((-limit, -limit - 1), (limit - 1, limit)):
                corners = getattr(wide, field)
                maps = (
                    replace(wide, **{field: (*corners[:index], value, *corners[index + 1 :])}) for value in (good, bad)
                )
                expected = (
                    f"{-limit} to {limit - 1} along {'WHD'[index]} for kind {wide.kind} of {wide.rank} dimensions"
                )
                yield Case("corner_values", *maps, field, expected, str(bad), index)
    for images in (NWC, NHWC, NDHWC, W, W128):
        for index in range(images.corner_rank):
            small = replace(images, extents=(64, *(2 for _ in images.extents[2:]), 4))
            # Extent 2 and lower corner -1: the box has a position from upper corner -2 on.
            maps = (_with_upper(small, index, value) for value in (-2, -3))
            expected = f"at least -2, so that the box has a position along {'WHD'[index]}"
            yield Case("nonempty_box", *maps, "upper", expected, "-3", index)


def _with_upper(tensor_map: TensorMap, index: int, value: int) -> TensorMap:
    return replace(tensor_map, upper=(*tensor_map.upper[:index], value, *tensor_map.upper[index + 1 :]))


def _pixels() -> Iterator[Case]:
    bytes = replace(NHWC, element="u8", swizzle="none")
    for good, bad in ((256, 272), (16, 0)):
        maps = (replace(bytes, channels_per_pixel=channels) for channels in (good, bad))
        yield Case("channel_range", *maps, "channels_per_pixel", "1 to 256 channels", str(bad))
    for element in ("u4_align16b", "u6_align16b"):
        packed = replace(NHWC, element=element, extents=(128, 32, 30, 4), channels_per_pixel=128)
        illegal = replace(packed, channels_per_pixel=64)
        expected = f"exactly 128 channels of {element}"
        yield Case("padded_channels", packed, illegal, "channels_per_pixel", expected, "64")
    maps = (replace(bytes, channels_per_pixel=channels) for channels in (16, 24))
    yield Case("channel_granule", *maps, "channels_per_pixel", "channels of a multiple of 16 bytes", "24 bytes")
    for images in (NWC, NHWC, NDHWC, W):
        for good, bad in ((1024, 1025), (1, 0)):
            maps = (replace(images, pixels_per_column=pixels) for pixels in (good, bad))
            yield Case("pixel_range", *maps, "pixels_per_column", "1 to 1024 pixels", str(bad))
    for images in (W, W128):
        expected = f"compute capability 10.0 or later for kind {images.kind}"
        yield Case("compute_capability_of_wide_kinds", NHWC, images, "target", expected, "sm_90a", target="sm_90a")


CASES = tuple(_cases())
