"""Which views of images TMA loads: each limit on both sides, without a mode (a remark) and with one (an error)."""

from __future__ import annotations

import math

import pytest

import tilec
from tilec.errors import UnsupportedError

# An im2col view as the left operand of a multiply.
MODULE = """
!X = tensor_view<{shape}x{element}, strides={strides}>
!V = tilex.im2col_view<tile=({pixels}x{channels}), window={window}, dilation={dilation}, stride={stride},
  lower={lower}, upper={upper}, {mode}!X>
!F = tensor_view<{channels}x64x{element}, strides=[64,1]>
!TF = partition_view<tile=({channels}x64), !F>
!C = tensor_view<{pixels}x64xf32, strides=[64,1]>
!TC = partition_view<tile=({pixels}x64), !C>
entry @k(%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %r: tile<ptr<f32>>) {{
  %a = assume div_by<{alignment}>, %p : tile<ptr<{element}>>
  %b = assume div_by<16>, %q : tile<ptr<{element}>>
  %i = constant <i32: 0> : tile<i32>
  %vx = make_tensor_view %a, shape = {listed}, strides = {steps} : !X
  %vf = make_tensor_view %b, shape = [{channels}, 64], strides = [64, 1] : !F
  %vc = make_tensor_view %r, shape = [{pixels}, 64], strides = [64, 1] : !C
  %v = tilex.make_im2col_view %vx : !V
  %tf = make_partition_view %vf : !TF
  %tc = make_partition_view %vc : !TC
  %none = constant <f32: 0.0> : tile<{pixels}x64xf32>
  %m, %t1 = tilex.load_im2col_tko weak %v[%i, %i] offset [{offset}] optimization_hints = <default = {{{hints}}}>
    : !V, tile<i32> -> tile<{pixels}x{channels}x{element}>, token
  %n, %t2 = load_view_tko weak %tf[%i, %i] : !TF, tile<i32> -> tile<{channels}x64x{element}>, token
  %sum = mmaf %m, %n, %none : tile<{pixels}x{channels}x{element}>, tile<{channels}x64x{element}>, tile<{pixels}x64xf32>
  store_view_tko weak %sum, %tc[%i, %i] : tile<{pixels}x64xf32>, !TC, tile<i32> -> token
  return
}}
"""


def module(
    images=(2, 64, 64, 64),
    tile=(128, 64),
    window=1,
    dilation=1,
    stride=1,
    lower=0,
    upper=0,
    mode=None,
    element="f16",
    alignment=16,
    strides=None,
    hints="allow_tma = true",
) -> tilec.Module:
    """A number stands for one per spatial dimension."""
    spatial = len(images) - 2
    parameters = {"window": window, "dilation": dilation, "stride": stride, "lower": lower, "upper": upper}
    each = {name: [value] * spatial if isinstance(value, int) else value for name, value in parameters.items()}
    steps = strides or [math.prod(images[k + 1 :]) for k in range(len(images))]
    text = MODULE.format(
        shape="x".join(map(str, images)),
        strides=steps,
        listed=list(images),
        steps=steps,
        pixels=tile[0],
        channels=tile[1],
        mode="" if mode is None else f"mode={mode}, ",
        element=element,
        alignment=alignment,
        offset=", ".join(["%i"] * spatial),
        hints=hints,
        **each,
    )
    return tilec.Module.parse(text)


ROW, IMAGE, VOLUME = (2, 4096, 64), (2, 400, 400, 64), (2, 64, 64, 64, 64)
# By rule: what TMA takes, what it does not take, and the reason.
RULES = {
    "corner of 3 dimensions": (
        {"images": ROW, "lower": 32768},
        {"images": ROW, "lower": 32769},
        "padding: TMA expects -32768 to 32767 along W for kind im2col of 3 dimensions, got -32769 "
        "(CUDA driver API, cuTensorMapEncodeIm2col, pixelBoxLowerCorner; PTX ISA 5.5.4.1)",
    ),
    "corner of 4 dimensions": (
        {"images": IMAGE, "lower": 128},
        {"images": IMAGE, "lower": [129, 128]},
        "padding: TMA expects -128 to 127 along H for kind im2col of 4 dimensions, got -129 "
        "(CUDA driver API, cuTensorMapEncodeIm2col, pixelBoxLowerCorner; PTX ISA 5.5.4.1)",
    ),
    "corner of 5 dimensions": (
        {"images": VOLUME, "lower": 16},
        {"images": VOLUME, "lower": [16, 16, 17]},
        "padding: TMA expects -16 to 15 along W for kind im2col of 5 dimensions, got -17 "
        "(CUDA driver API, cuTensorMapEncodeIm2col, pixelBoxLowerCorner; PTX ISA 5.5.4.1)",
    ),
    "upper corner": (
        {"images": IMAGE, "window": 129},
        {"images": IMAGE, "window": 130},
        "window, dilation and padding: TMA expects -128 to 127 along W for kind im2col of 4 dimensions, got -129 "
        "(CUDA driver API, cuTensorMapEncodeIm2col, pixelBoxUpperCorner; PTX ISA 5.5.4.1)",
    ),
    "offset of 4 dimensions": (
        {"images": IMAGE, "window": 256, "upper": 127},
        {"images": IMAGE, "window": [256, 257], "upper": 127},
        "window and dilation: the last tap of dimension 1 is 256 elements after the first one, and an offset is at "
        "most 255 (PTX ISA 5.5.4.1)",
    ),
    "offset of 5 dimensions": (
        {"images": VOLUME, "window": 16, "dilation": 2, "upper": 15},
        {"images": VOLUME, "window": [17, 1, 1], "dilation": 2, "upper": 15},
        "window and dilation: the last tap of dimension 0 is 32 elements after the first one, and an offset is at "
        "most 31 (PTX ISA 5.5.4.1)",
    ),
    "stride": (
        {"stride": 8},
        {"stride": [8, 9]},
        "stride: TMA expects 1 to 8, got 9 (CUDA driver API, cuTensorMapEncodeIm2col, elementStrides)",
    ),
    "base": (
        {"alignment": 16},
        {"alignment": 8},
        "array: the base address is not known to be a multiple of 16 bytes: pass arrays aligned to them",
    ),
    "pixels that are not aligned": (
        {"images": (2, 64, 64, 72)},
        {"images": (2, 64, 64, 68)},
        "array: stride 2 is not known to be a multiple of 16 bytes: pass arrays with padded rows",
    ),
    "channels that are not adjacent": (
        {},
        {"images": (2, 8, 8, 64), "strides": [64, 128, 1024, 8192]},
        "array: the channels of a pixel are not known to be adjacent in memory",
    ),
    "hint": ({}, {"hints": "allow_tma = false"}, "hint allow_tma=False"),
}


@pytest.mark.parametrize("name", RULES)
def test_rules(name, target):
    legal, illegal, reason = RULES[name]
    compiled = tilec.compile(module(**legal), target=target, stop="ptx")
    assert ".im2col." in compiled.ptx
    assert not any("im2col" in remark.message for remark in compiled.all_remarks)
    compiled = tilec.compile(module(**illegal), target=target, stop="ptx")
    assert ".im2col." not in compiled.ptx
    found = [remark for remark in compiled.all_remarks if "im2col" in remark.message]
    assert [remark.message for remark in found] == [f"the load through the im2col view is a gather of rows: {reason}"]
    assert found[0].topic == "tma" and found[0].location is not None
    with pytest.raises(UnsupportedError) as refused:
        tilec.compile(module(**illegal, mode="im2col"), target=target, stop="ptx")
    advice = "leave mode out to gather the rows without im2col"
    assert refused.value.message == f"mode=im2col cannot be followed: {reason}; {advice}"
    assert refused.value.location is not None


COPY = """
!X = tensor_view<2x64x64x64xfnv8E5M3FNU, strides=[262144,4096,64,1]>
!V = tilex.im2col_view<tile=(128x64), window=[1, 1], dilation=[1, 1], stride=[1, 1], lower=[0, 0], upper=[0, 0],
  mode=im2col, !X>
!C = tensor_view<128x64xfnv8E5M3FNU, strides=[64,1]>
!T = partition_view<tile=(128x64), !C>
entry @k(%p: tile<ptr<fnv8E5M3FNU>>) {
  %a = assume div_by<16>, %p : tile<ptr<fnv8E5M3FNU>>
  %i = constant <i32: 0> : tile<i32>
  %x = make_tensor_view %a, shape = [2, 64, 64, 64], strides = [262144, 4096, 64, 1] : !X
  %v = tilex.make_im2col_view %x : !V
  %c = make_tensor_view %a, shape = [128, 64], strides = [64, 1] : !C
  %t = make_partition_view %c : !T
  %m, %u = tilex.load_im2col_tko weak %v[%i, %i] offset [%i, %i] : !V, tile<i32> -> tile<128x64xfnv8E5M3FNU>, token
  store_view_tko weak %m, %t[%i, %i] : tile<128x64xfnv8E5M3FNU>, !T, tile<i32> -> token
  return
}
"""


def test_element_without_a_tensor_map_is_refused(target):
    with pytest.raises(UnsupportedError, match="array: element type fnv8E5M3FNU has no tensor map;") as refused:
        tilec.compile(tilec.Module.parse(COPY), target=target, stop="ptx")
    assert refused.value.location is not None and refused.value.location.line == 14


WIDE_RULES = {
    "offset along W": (
        {"images": IMAGE, "window": [1, 32]},
        {"images": IMAGE, "window": [1, 33]},
        "window and dilation: the last tap of dimension 1 is 32 elements after the first one, and an offset is at "
        "most 31 (PTX ISA 5.5.5.4)",
    ),
    "any offset along H": (
        {"images": IMAGE, "window": [300, 1]},
        {"images": IMAGE, "window": [300, 1], "alignment": 8},
        "array: the base address is not known to be a multiple of 16 bytes: pass arrays aligned to them",
    ),
    "bytes of channels": (
        {"tile": (128, 32)},
        {"tile": (128, 16)},
        "tile: TMA expects at least 64 bytes of channels in mode {mode}, got 32 bytes (PTX ISA 5.5.5)",
    ),
}


@pytest.mark.parametrize("mode", ["w", "w128"])
@pytest.mark.parametrize("name", WIDE_RULES)
def test_rules_along_w(name, mode):
    legal, illegal, reason = WIDE_RULES[name]
    compiled = tilec.compile(module(**legal, mode=mode), target="sm_100a", stop="ptx")
    assert f".im2col::w{'::128' * (mode == 'w128')}." in compiled.ptx
    with pytest.raises(UnsupportedError) as refused:
        tilec.compile(module(**illegal, mode=mode), target="sm_100a", stop="ptx")
    advice = "leave mode out, which numbers the pixels of tiles across rows"
    assert refused.value.message == f"mode={mode} cannot be followed: {reason.format(mode=mode)}; {advice}"


@pytest.mark.parametrize("mode", ["w", "w128"])
def test_hopper_has_no_mode_along_w(mode):
    with pytest.raises(UnsupportedError) as refused:
        tilec.compile(module(mode=mode), target="sm_90a", stop="ptx")
    name = {"w": "im2col::w", "w128": "im2col::w::128"}[mode]
    reason = f"mode: TMA of sm_90a has no {name} (PTX ISA 9.7.9.27.1.2)"
    assert f"mode={mode} cannot be followed: {reason};" in refused.value.message


def test_a_gather_has_one_remark(target):
    """The operand that the gather feeds needs no second one, which would speak of views that the user did not write."""
    compiled = tilec.compile(module(stride=9), target=target, stop="ptx")
    found = [remark.message for remark in compiled.all_remarks if "the store" not in remark.message]
    reason = "stride: TMA expects 1 to 8, got 9 (CUDA driver API, cuTensorMapEncodeIm2col, elementStrides)"
    assert found == [f"the load through the im2col view is a gather of rows: {reason}"]
