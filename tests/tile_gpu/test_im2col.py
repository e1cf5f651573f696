"""Tensor maps of the kinds im2col, and the copies through them: assembly, refusals, and the PTX of each kind."""

from __future__ import annotations

import re

import pytest

from tilec.dialect.stage_assembly.printer import print_stage
from tilec.dialect.tile_gpu.operations import tensor_map
from tilec.errors import UnsupportedError, VerificationError
from tilec.lowering.gpu_to_ptx.kernel import convert
from tilec.lowering.ptx.emit import emit
from tilec.lowering.tma.rules import CORNER_BITS, MAX_CHANNELS, MAX_ELEMENT_STRIDE, MAX_PIXELS, WIDE_SWIZZLES
from tilec.lowering.tma.tensor_map import SWIZZLES, WIDE_KINDS
from tilec.text_input.stage_module import read_stage_module, stage_module_text

HEAD = """
!a = buffer<64x128xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!h = buffer<66x64xf16, shared, contiguous=1 swizzle=128B>
!w = buffer<136x64xf16, shared, contiguous=1 swizzle=128B>
!r = buffer<64xi32, shared, contiguous=0 swizzle=none>
!c = channel<[!a, !b, !h, !w]>
tile_gpu.kernel @k(%p: i64, %n: i32, %o: i16) target "sm_100a" warps 4 {
  %c = tile_gpu.make_channel stages 2 producer tma consumers [threads] reuse once : !c
  %s:4 = tile_gpu.put_begin %c : !c
"""
MAP = 'tile_gpu.make_tensor_map "f16" %p[{}] strides [{}] kind {} box [{}] swizzle {} fill zero'


def make_map(
    rank: int,
    kind: str = "im2col",
    lower: str | None = None,
    upper: str | None = None,
    steps: str | None = None,
    box: str = "64, 64",
    swizzle: str = "128B",
) -> str:
    """`%map = make_tensor_map` of images of a rank, with corners -1 and element strides of 1 if they are not given."""
    corners = ", ".join(["-1"] * (rank - 2 if kind == "im2col" else 1))
    walk = f"{kind} lower [{lower or corners}] upper [{upper or corners}] element_strides [{steps or ones(rank)}]"
    extents, strides = ", ".join(["%n"] * rank), ", ".join(["%n"] * (rank - 1))
    return f"%map = {MAP.format(extents, strides, walk, box, swizzle)}\n"


def ones(rank: int) -> str:
    return ", ".join(["1"] * rank)


def load(rank: int, offsets: int, slot: int = 1, halo: int | None = None) -> str:
    coordinates, moved = ", ".join(["%n"] * rank), ", ".join(["%o"] * offsets)
    tail = "" if halo is None else f" halo {halo}"
    return f"tile_gpu.tma_load %map[{coordinates}] offsets [{moved}]{tail} -> %s#{slot} of %c : !{'abhw'[slot]}\n"


STORE = "tile_gpu.tma_store %s#{} -> %map[%n, %n, %n, %n] : !{}\n"
W, W128 = make_map(4, "im2col_w"), make_map(4, "im2col_w128", box="64, 128")
INSIDE = make_map(4, lower="0, 1", upper="-2, 0")
# Operations that follow HEAD, and the instruction of the copy without its address and coordinates.
COPIES = {
    "rank 3": (make_map(3) + load(3, 1), "cp.async.bulk.tensor.3d.shared::cta.global.im2col.", ", {%h1}"),
    "rank 4": (make_map(4) + load(4, 2), "cp.async.bulk.tensor.4d.shared::cta.global.im2col.", ", {%h1, %h1}"),
    "rank 5": (make_map(5) + load(5, 3), "cp.async.bulk.tensor.5d.shared::cta.global.im2col.", ", {%h1, %h1, %h1}"),
    "rank 4, two panels": (make_map(4) + load(4, 2, 0), "cp.async.bulk.tensor.4d.shared::cta.global.im2col.", None),
    "rows of images": (W + load(4, 1, halo=0), "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.", ", {0, %h1}"),
    "rows with a halo": (W + load(4, 1, 2, 2), "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.", ", {2, %h1}"),
    "rows of 128 pixels": (
        W128 + load(4, 1, 3, 2),
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w::128.",
        ", {2, %h1}",
    ),
    "store": (INSIDE + STORE.format(1, "b"), "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.", None),
    "reduction": (
        INSIDE + STORE.format(1, "b").replace(" :", " reduction add :"),
        "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.im2col_no_offs.",
        None,
    ),
}


def ptx_of(body: str, target: str = "sm_100a") -> str:
    module = read_stage_module(f"{HEAD}{body}}}", "<k>")
    return " ".join(re.sub(r"//.*", "", line).strip() for line in emit(convert(module, target=target)).splitlines())


@pytest.mark.parametrize("name", COPIES)
def test_kind_is_the_mode_of_the_instruction(name: str) -> None:
    body, instruction, information = COPIES[name]
    copies = re.findall(r"(cp\.[\w.:]*bulk\.tensor[\w.:]* )([^;]*);", ptx_of(body))
    assert len(copies) == (2 if "panels" in name else 1)
    for head, operands in copies:
        assert head.startswith(instruction)
        assert information is None or operands.endswith(information)


def test_panels_follow_each_other_along_the_channels() -> None:
    ptx = ptx_of(COPIES["rank 4, two panels"][0])
    first, second = re.findall(r"cp\.async[\w.:]* \[(%r\d+)\], \[%rd\d+, \{(%r\d+), ([^}]*)\}\]", ptx)
    assert re.search(rf"add\.s32 {second[0]}, {first[0]}, 8192;", ptx)
    assert re.search(rf"add\.s32 {second[1]}, {first[1]}, 64;", ptx)
    assert first[2] == second[2]


def test_full_barrier_expects_the_pixels_with_their_halos() -> None:
    """Buffers of 64x128, 64x64, 64+2 and 128+4*2 pixels of 64 channels of two bytes."""
    pixels = 64 * 2 + 64 + (64 + 2) + (128 + 4 * 2)
    assert f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], {pixels * 64 * 2};" in re.sub(
        r"_, \[%r\d+\]", "_, [%r1]", ptx_of(W + load(4, 1, halo=0))
    )


@pytest.mark.parametrize("name", COPIES)
def test_operations_round_trip(name: str) -> None:
    module = read_stage_module(f"{HEAD}{COPIES[name][0]}}}", "<k>")
    text = print_stage(module)
    again = read_stage_module(text, "<k>")
    assert stage_module_text(again, generic=True) == stage_module_text(module, generic=True)
    assert stage_module_text(read_stage_module(stage_module_text(module, generic=True), "<k>")) == text


@pytest.mark.parametrize("name", ["rows of images", "rows of 128 pixels"])
def test_rows_of_images_need_sm_100a(name: str) -> None:
    with pytest.raises(UnsupportedError, match="sm_90a has no loads through a map of kind im2col_w.*: use kind im2col"):
        ptx_of(COPIES[name][0], "sm_90a")


@pytest.mark.parametrize("name", ["rank 3", "rank 4", "rank 5", "store", "reduction"])
def test_both_targets_have_the_kind_im2col(name: str) -> None:
    assert COPIES[name][1] in ptx_of(COPIES[name][0], "sm_90a")


GATHER = """\
%m = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 1] swizzle 128B fill zero
%r = tile_gpu.shared : !r
tile_gpu.tma_gather %m[%n] rows %r -> %s#1 of %c : !r -> !b
"""


def test_gather_needs_sm_100a() -> None:
    with pytest.raises(UnsupportedError, match="sm_90a has no tile::gather4, which needs sm_100a"):
        ptx_of(GATHER, "sm_90a")


SCATTER = """\
%m = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 1] swizzle 128B fill zero
%r = tile_gpu.shared : !r
tile_gpu.tma_store %s#1 -> %m[%n] rows %r : !r : !b
"""


def test_scatter_needs_sm_100a() -> None:
    assert "tile::scatter4" in ptx_of(SCATTER, "sm_100a")
    with pytest.raises(UnsupportedError, match="sm_90a has no tile::scatter4, which needs sm_100a"):
        ptx_of(SCATTER, "sm_90a")


CORNERS = "lower [-1, -1] upper [-1, -1] "
TRANSPOSED = "buffer<64x64xf16, shared, contiguous=0 swizzle=128B>"
REFUSALS = {
    make_map(2, lower="0", upper="0"): "expected 3 to 5 extents of a map of kind im2col, but got 2",
    make_map(4).replace("strides [%n, ", "strides ["): "expected 3 strides for 4 extents, but got 2",
    make_map(4).replace(CORNERS, "").replace("kind im2col ", "").replace("element_strides [1, 1, 1, 1] ", ""): (
        "expected 2 extents and 1 strides for box [64, 64]"
    ),
    make_map(4, box="64, 8, 8"): "expected a box of [channels, pixels], but got [64, 8, 8]",
    make_map(4, box="257, 64"): "expected channels from 1 to 256, but got 257",
    make_map(4, box="64, 1025"): "expected pixels from 1 to 1024, but got 1025",
    make_map(4, "im2col_w128"): "expected 128 pixels of a map of kind im2col_w128, but got 64",
    make_map(4, lower="-1"): "expected 2 entries in 'lower' of a map of kind im2col, but got [-1]",
    make_map(4, "im2col_w", upper="0, 0"): "expected 1 entries in 'upper' of a map of kind im2col_w, but got [0, 0]",
    make_map(3, lower="-32769"): "expected corners 'lower' from -32768 to 32767, but got -32769",
    make_map(4, upper="0, 128"): "expected corners 'upper' from -128 to 127, but got [0, 128]",
    make_map(5, lower="0, 0, -17"): "expected corners 'lower' from -16 to 15, but got [0, 0, -17]",
    make_map(5, "im2col_w", lower="-32769"): "expected corners 'lower' from -32768 to 32767, but got -32769",
    make_map(4, steps="1, 1, 1"): "expected 4 element strides for 4 extents, but got [1, 1, 1]",
    make_map(4, steps="1, 2, 9, 1"): "expected element strides from 1 to 8, but got [1, 2, 9, 1]",
    make_map(4, steps="1, 2, 2, 2"): "expected element strides other than 1 only along W, H, but got [1, 2, 2, 2]",
    make_map(4, "im2col_w", steps="1, 2, 2, 1"): "expected element strides other than 1 only along W, but got",
    make_map(4, "im2col_w", swizzle="none"): (
        "expected a swizzle of 64B, 128B, 128B_atom_32B of a map of kind im2col_w, but got none"
    ),
    make_map(4, "im2col_w", box="16, 64", swizzle="32B"): (
        "expected a swizzle of 64B, 128B, 128B_atom_32B of a map of kind im2col_w, but got 32B"
    ),
    make_map(4) + load(3, 2): "expected 4 coordinates of a map of 4 dimensions, but got 3",
    make_map(4) + load(4, 1): "expected 2 offsets for a map of 4 dimensions of kind im2col, but got 1",
    W + load(4, 2, halo=0): "expected 1 offsets for a map of 4 dimensions of kind im2col_w, but got 2",
    make_map(4) + load(4, 2, halo=0): "expected a halo only with a map of a kind along W",
    W + load(4, 1): "expected a halo from 0 to 511 with a map of kind im2col_w, but got none",
    W128 + load(4, 1, halo=32): "expected a halo from 0 to 31 with a map of kind im2col_w128, but got 32",
    W + load(4, 1, halo=2): "expected a buffer of 66 pixels by a multiple of 64 channels, but got buffer<64x64xf16",
    make_map(4, box="64, 32") + load(4, 2): "expected a buffer of 32 pixels by a multiple of 64 channels, but got",
    f"{INSIDE}%t = tile_gpu.shared : {TRANSPOSED}\ntile_gpu.tma_store %t -> %map[%n, %n, %n, %n] : {TRANSPOSED}": (
        "expected a buffer of 64 pixels by a multiple of 64 channels, but got buffer<64x64xf16, shared, contiguous=0"
    ),
    make_map(4) + STORE.format(1, "b"): "expected lower corners of at least 0 and upper ones of at most 0, but got",
    make_map(4)
    + load(4, 2).replace("] ->", "] slices 2 ->"): "of kind im2col with corners 0 and -1 along its 2 slices",
    W + "tile_gpu.tma_prefetch %map[%n, %n, %n, %n]": "expected a map without kind, but got im2col_w",
    W + STORE.format(1, "b"): "expected a map without kind or of kind im2col, but got im2col_w",
    GATHER.replace("%m[%n]", "%map[%n]").replace("%r =", make_map(4, box="64, 1") + "%r =", 1): (
        "expected a map of a matrix with a box of one row, but got box [64, 1] of kind im2col"
    ),
}


@pytest.mark.parametrize("lines", REFUSALS)
def test_invalid_operation_is_rejected(lines: str) -> None:
    with pytest.raises(VerificationError) as caught:
        read_stage_module(f"{HEAD}{lines}\n}}", "<k>")
    assert REFUSALS[lines] in caught.value.message


def test_kind_and_its_fields_come_together() -> None:
    """The assembly has them in one group, the generic form does not."""
    text = stage_module_text(read_stage_module(f"{HEAD}{make_map(4)}}}", "<k>"), generic=True)
    for removed in ("element_strides = array<i32: 1, 1, 1, 1>, ", "lower = array<i32: -1, -1>, "):
        assert removed in text
        with pytest.raises(VerificationError, match="expected lower, upper and element_strides with kind im2col or"):
            read_stage_module(text.replace(removed, ""), "<k>")


def test_limits_are_those_of_the_launch() -> None:
    """The verifier and the launcher, which knows the values of extents and strides, accept the same maps."""
    assert {rank - 2: bits for rank, bits in tensor_map.CORNER_BITS.items()} == CORNER_BITS
    assert (tensor_map.CHANNELS, tensor_map.PIXELS) == ((1, MAX_CHANNELS), (1, MAX_PIXELS))
    assert tensor_map.ELEMENT_STRIDES == (1, MAX_ELEMENT_STRIDE)
    assert tensor_map.SWIZZLES_ALONG_W == WIDE_SWIZZLES
    assert {name for name, kind in tensor_map.IM2COL_KINDS.items() if kind.along_w} == set(WIDE_KINDS)
    assert {name: span or 0 for name, span in tensor_map.SPANS.items()} == {
        name: SWIZZLES[name].span_bytes for name in tensor_map.SPANS
    }
