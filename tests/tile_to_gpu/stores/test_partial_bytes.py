"""Accesses of views of f4E2M1FN that touch a part of a byte, and paddings that a type lacks, are refused."""

from __future__ import annotations

import pytest

import tilec
from tilec.errors import UnsupportedError

MODULE = """
!V = tensor_view<{shape}x{element}, strides=[{strides}]>
!T = {view}
entry @k(%p: tile<ptr<{element}>>) {{
  %i = constant <i32: 0> : tile<i32>
  %o = constant <i32: {offset}> : tile<i32>
  %b = offset %p, %o : tile<ptr<{element}>>, tile<i32> -> tile<ptr<{element}>>
  %v = make_tensor_view %b, shape = [{listed}], strides = [{strides}] : !V
  %s = make_{kind} %v : !T
  %x, %t = load_view_tko weak %s[%i, %i] : !T, tile<i32> -> tile<{tile}x{element}>, token
  store_view_tko weak %x, %s[%i, %i] : tile<{tile}x{element}>, !T, tile<i32> -> token
  return
}}
"""


def module(
    shape=(64, 64), strides=(64, 1), tile=(4, 4), steps=None, offset=0, padding=None, element="f4E2M1FN"
) -> tilec.Module:
    extents = "x".join(map(str, tile))
    kind = "partition_view" if steps is None else "strided_view"
    listed = [f"tile=({extents})", *([] if steps is None else [f"traversal_strides=[{steps[0]},{steps[1]}]"])]
    listed += [] if padding is None else [f"padding_value = {padding}"]
    text = MODULE.format(
        element=element,
        shape="x".join(map(str, shape)),
        listed=", ".join(map(str, shape)),
        strides=",".join(map(str, strides)),
        view=f"{kind}<{', '.join(listed)}, !V>",
        kind=kind,
        tile=extents,
        offset=offset,
    )
    return tilec.Module.parse(text)


REFUSALS = {
    "tile": ({"tile": (4, 1)}, "an even extent of the tile along dimension 1, got 1"),
    "steps": ({"steps": (4, 3)}, "an even traversal stride along dimension 1, got 3"),
    "extent": (
        {"shape": (64, 63)},
        "an even extent of the tensor along dimension 1, whose elements are adjacent, got 63",
    ),
    "stride": ({"strides": (65, 1)}, "an even stride of dimension 0, got 65"),
    "columns": ({"strides": (1, 65), "tile": (4, 4)}, "an even stride of dimension 1, got 65"),
    "base": ({"offset": 3}, "a base at the start of a byte, got an offset of 3 elements"),
}


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("case", REFUSALS)
def test_access_of_a_part_of_a_byte_is_refused(case, target):
    options, reason = REFUSALS[case]
    with pytest.raises(UnsupportedError) as caught:
        tilec.compile(module(**options), target=target, stop="ptx")
    assert (
        caught.value.message == f"elements of f4E2M1FN are accessed in pairs, the halves of a byte: expected {reason}"
    )
    assert caught.value.location is not None


GATHERED = """
!V = tensor_view<64x64xf4E2M1FN, strides=[64,1]>
!T = gather_scatter_view<tile=(4x4), !V, sparse_dim=0>
entry @k(%p: tile<ptr<f4E2M1FN>>) {
  %r = iota : tile<4xi32>
  %i = constant <i32: 3> : tile<i32>
  %v = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : !V
  %g = make_gather_scatter_view %v : !T
  %x, %t = load_view_tko weak %g[%r, %i] : !T, tile<4xi32>, tile<i32> -> tile<4x4xf4E2M1FN>, token
  store_view_tko weak %x, %g[%r, %i] : tile<4x4xf4E2M1FN>, !T, tile<4xi32>, tile<i32> -> token
  return
}
"""


def test_gathered_columns_that_begin_within_a_byte_are_refused():
    with pytest.raises(UnsupportedError, match="expected an even index of dimension 1, got 3") as caught:
        tilec.compile(tilec.Module.parse(GATHERED), target="sm_100a", stop="ptx")
    assert caught.value.location is not None and caught.value.location.line == 9


@pytest.mark.parametrize(
    "options",
    [{}, {"steps": (3, 6)}, {"shape": (63, 64)}, {"shape": (1, 64), "strides": (65, 1)}, {"offset": 2}],
    ids=lambda options: ",".join(options) or "plain",
)
def test_access_of_whole_bytes_compiles(options):
    assert tilec.compile(module(**options), target="sm_90a", stop="ptx").ptx


@pytest.mark.parametrize(
    ("element", "padding"),
    [
        ("f4E2M1FN", "nan"),
        ("f4E2M1FN", "pos_inf"),
        ("f8E8M0FNU", "neg_zero"),
        ("f8E4M3FN", "neg_inf"),
        ("fnv8E5M3FNU", "neg_zero"),
    ],
)
def test_padding_that_a_type_lacks_is_refused(element, padding):
    with pytest.raises(UnsupportedError, match=f"elements of {element} have no {padding}: expected another padding"):
        tilec.compile(module(element=element, padding=padding), target="sm_100a", stop="ptx")
