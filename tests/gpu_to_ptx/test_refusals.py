"""Operations of hand-written stage texts that have no PTX are refused with the rule, at their line."""

from __future__ import annotations

import pytest

from tilec.errors import CompileError, VerificationError
from tilec.lowering.gpu_to_ptx.kernel import convert
from tilec.text_input.stage_module import read_stage_module

HEAD = """#line = "register=none lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#columns = "register=(1,0)(2,0)(4,0)(0,1)(0,2)(0,4) lane=(0,8)(0,16)(0,32)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#pairs = "register=(1) lane=(2)(4)(8)(16)(32) warp=(64)(128) shape=256"
#moved = "register=(1) lane=(2)(4)(8)(16)(64) warp=(32)(128) shape=256"
#apart = "register=(128) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=256"
#four = "register=(128)(256) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=512"
#sums = "register=(0,1)(8,0)(0,8)(0,16)(0,32)(64,0) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=128x64"
#fragments = "register=(0,1)(8,0)(0,8)(0,16)(0,32)(16,0) lane=(0,2)(0,4)(1,0)(2,0)(4,0) warp=(64,0)(32,0) shape=128x64"
#words = "register=(0,1)(0,2)(64,0) lane=(0,0)(8,0)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=128x4"
!s = tensor<128x64xf32, #sums>
!fragments = tensor<128x64xf32, #fragments>
!c = buffer<128x64xf16, shared, contiguous=0 swizzle=128B>
!t = tensor<128x64xf32, #rows>
!bytes = tensor<128xi8, #line>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!numbers = tensor<128xi32, #line>
!nibbles = buffer<128xi4, shared, contiguous=0 swizzle=none>
tile_gpu.kernel @k(%p: i64, %n: i32) target "TARGET" warps 4 {
%x = arith.constant dense<0.0> : !t
%y = arith.constant dense<1> : !bytes
%e = arith.constant dense<1> : tensor<128xi4, #line>
%f = arith.constant dense<1.0> : tensor<128xf32, #line>
%q = arith.constant dense<0> : tensor<128x64xi64, #columns>
%numbers = arith.constant dense<0> : !numbers
%words = arith.constant dense<0> : tensor<128x4xi32, #words>
%s = arith.constant dense<0.0> : !s
%z = arith.constant dense<0.0> : !fragments
%c = tile_gpu.shared : !c
%a = tile_gpu.shared : !a
%b = tile_gpu.shared : !b
%w = tile_gpu.shared : !nibbles
"""
VIEW = "%r = tile_gpu.load_view %p[%n] extents [%n] strides [%n] vector 1"
REFUSALS = {
    f'{VIEW} padding "one" : tensor<128xf32, #line>': (
        "'tile_gpu.load_view': unknown padding 'one', expected one of zero, neg_zero, nan, pos_inf, neg_inf"
    ),
    f'{VIEW} padding "nan" : !bytes': "'tile_gpu.load_view': padding 'nan' needs float elements, got i8",
    f"{VIEW} : tensor<128xi3, #line>": "elements of type i3 have no PTX register, expected one",
    "%r = arith.constant 1.0 : f80": "elements of type f80 have no PTX register, expected one of i1",
    "tile_gpu.order_wait last": (
        "'tile_gpu.order_wait': expected a role of 8, 12 or 16 warps, whose warpgroups have an order, but got 4"
    ),
    "%m = arith.xori %n, %n : i32\n"
    '%r = tile_gpu.make_tensor_map "f16" %p[%m, %n] strides [%n] box [64, 64] swizzle 128B fill zero': (
        "the launcher cannot compute 'arith.xori' for a tensor map"
    ),
    "%r = tile_gpu.mma_sync %a, %b, %x : !a, !b -> !t": (
        "'tile_gpu.mma_sync': expected an accumulator in the layout of mma.sync, but got register=(0,1)(0,2)"
    ),
    "%r = tile_gpu.wgmma f16 %a, %b, %x : !a, !b -> !t": (
        "'tile_gpu.wgmma': expected an accumulator in the layout of wgmma, but got register=(0,1)(0,2)"
    ),
    "%r = tile_gpu.wgmma f16 %a, %c sparse %words : tensor<128x4xi32, #words>, %s : !a, !c -> !s": (
        "'tile_gpu.wgmma': expected metadata in the layout of wgmma, but got register=(0,1)(0,2)(64,0)"
    ),
    "%r = tile_gpu.mma_sync %a, %c sparse %words : tensor<128x4xi32, #words>, %z : !a, !c -> !fragments": (
        "'tile_gpu.mma_sync': expected metadata in the layout register=(0,2)(16,0) lane=(8,0)(0,1)(1,0)(2,0)(4,0) "
        "warp=(64,0)(32,0) shape=128x4, but got register=(0,1)(0,2)(64,0)"
    ),
    "%r = tile_gpu.unpack %y dimension 0 : !bytes -> tensor<256xi4, #apart>": (
        "'tile_gpu.unpack': expected a thread to hold 2 successive elements along 0, got 'register=(128) lane=(1)"
    ),
    "%r = tile_gpu.unpack %y dimension 0 : !bytes -> tensor<256xi4, #moved>": (
        "'tile_gpu.unpack': expected each element in the thread of its bytes, in 'register=none lane=(1)(2)(4)(8)(32)"
    ),
    "%r = tile_gpu.pack %f dimension 0 : tensor<128xf32, #line> -> tensor<512xi8, #four>": (
        "'tile_gpu.pack': expected a thread to hold 4 successive elements along 0, got 'register=(128)(256)"
    ),
    "tile_gpu.store_shared %e, %w : tensor<128xi4, #line> -> !nibbles": (
        "'tile_gpu.store_shared': expected a thread to hold 2 successive elements along 0, got 'register=none"
    ),
    "%r = tile_gpu.load_shared %w : !nibbles -> tensor<128xi4, #line>": (
        "'tile_gpu.load_shared': expected a thread to hold 2 successive elements along 0, got 'register=none"
    ),
    "%r = tile_gpu.load_shared_rows %a rows %numbers from 0 : !a, !numbers -> tensor<128x64xf16, #rows>": (
        "'tile_gpu.load_shared_rows': expected the numbers of rows in layout 'register=(0)(0)(0)(0)(0)(0) lane=(1)"
    ),
    "tile_gpu.copy_global %q -> %a vector 8 : tensor<128x64xi64, #columns> -> !a": (
        "'tile_gpu.copy_global': expected 8 successive registers of a thread to be adjacent in memory"
    ),
}


@pytest.mark.parametrize("lines", REFUSALS)
def test_operation_without_ptx_is_refused(lines: str) -> None:
    head = HEAD.replace("TARGET", "sm_90a" if "wgmma" in lines else "sm_100a")
    module = read_stage_module(f"{head}{lines}\n}}", "<k>")
    with pytest.raises(CompileError) as caught:
        convert(module)
    assert caught.value.message.startswith(REFUSALS[lines])
    first = head.count("\n") + 1
    assert str(caught.value.location).startswith(f"<k>:{first}:")


def test_global_of_unknown_elements_is_refused() -> None:
    text = "tile_gpu.global @table alignment 16 private {value = dense<1> : tensor<2xi3>}\n"
    with pytest.raises(VerificationError, match="elements must be of i1, i4, .*, but got i3") as caught:
        read_stage_module(text, "<k>")
    assert str(caught.value.location) == "<k>:1:1"


FULL = """
#columns = "register=(1,0)(2,0)(4,0)(0,1)(0,2)(0,4) lane=(0,8)(0,16)(0,32)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
tile_gpu.kernel @k(%p: i64, %n: i32) target "sm_100a" warps 4 {
  %a = tile_gpu.shared : buffer<512x64xf32, shared, contiguous=1 swizzle=128B>
  %b = tile_gpu.shared : buffer<256x64xf32, shared, contiguous=1 swizzle=128B>
  %c = tile_gpu.shared : buffer<128x64xf32, shared, contiguous=1 swizzle=128B>
  %d = tile_gpu.shared : buffer<16x32xf32, shared, contiguous=1 swizzle=128B>
  %x = tile_gpu.load_view %p[%n, %n] extents [%n, %n] strides [%n, %n] vector 1 : tensor<128x64xf32, #rows>
  %y = tile_gpu.convert_layout %x : tensor<128x64xf32, #rows> -> tensor<128x64xf32, #columns>
  tile_gpu.store_view %y -> %p[%n, %n] extents [%n, %n] strides [%n, %n] vector 1 : tensor<128x64xf32, #columns>
}
"""


def test_scratch_that_does_not_fit_beside_the_buffers_has_a_note() -> None:
    """The buffers of 231424 bytes would fit."""
    module = read_stage_module(FULL, "<k>")
    with pytest.raises(
        CompileError, match="the kernel needs 239616 bytes of shared memory, sm_100a has 232448"
    ) as caught:
        convert(module)
    assert str(caught.value.location) == "<k>:4:1"
    assert caught.value.notes[-1].message == "8192 bytes: scratch of reductions and layout conversions"
