"""Each operation of tile_gpu is verified and round trips; the table has a line for every operation."""

from __future__ import annotations

import re

import pytest

from tilec.dialect.operation import OPERATIONS
from tilec.dialect.stage_assembly.printer import print_stage
from tilec.dialect.tile_gpu import dialect  # noqa: F401
from tilec.text_input.stage_module import read_stage_module, stage_module_text

HEAD = """
#rows = "register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64"
#thin = "register=(0,0)(0,0)(0,0)(0,0)(0,0)(0,0) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x1"
#line = "register=none lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"
!t = tensor<128x64xf32, #rows>
!h = tensor<128x64xf16, #rows>
!l = tensor<128xf32, #line>
!a = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<64x64xf16, shared, contiguous=1 swizzle=128B>
!s = buffer<128x64xf32, shared, contiguous=1 swizzle=128B>
!d = buffer<128x64xf32, tensor, lanes=128>
!c = channel<[!a, !b]>
!g = buffer<128x64xf8E4M3FN, shared, contiguous=1 swizzle=64B>
!j = buffer<64x64xf8E4M3FN, shared, contiguous=0 swizzle=64B>
!m = buffer<128x2xf8E8M0FNU, shared, scale_factors depth=1>
!n = buffer<128x2xf8E8M0FNU, tensor, scale_factors depth=1>
!o = buffer<2x64xf8E8M0FNU, tensor, scale_factors depth=0>
!q = buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
!r = buffer<128x4xi32, tensor, sparse_metadata>
!u = buffer<128x64xf16, shared, contiguous=0 swizzle=128B>
!e = tensor<128x4xi32, "register=(0,2)(64,0) lane=(8,0)(0,1)(1,0)(2,0)(4,0) warp=(16,0)(32,0) shape=128x4">
tile_gpu.global @table alignment 16 private {value = dense<[1, 2]> : tensor<2xi32>}
tile_gpu.kernel @k(%p: i64, %n: i32, %f: f32) target "sm_100a" warps 4 {
  %yes = arith.constant true
  %x = arith.constant dense<0.0> : !t
  %y = arith.constant dense<0.0> : !l
  %at = arith.constant dense<0> : tensor<128xi64, #line>
  %in = arith.constant dense<true> : tensor<128xi1, #line>
  %map = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
  %c = tile_gpu.make_channel stages 2 producer tma consumers [threads, mma] reuse ring : !c
  %e = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : channel<[!d]>
  %w = tile_gpu.shared : !s
  %slot:2 = tile_gpu.put_begin %c : !c
  %d = tile_gpu.put_begin %e : channel<[!d]>
  %sides = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once : channel<[!g, !j]>
  %scales = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once : channel<[!m, !n, !o]>
  %side:2 = tile_gpu.get %sides consumer 0 : channel<[!g, !j]>
  %sparse = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once : channel<[!q, !u, !r]>
  %part:3 = tile_gpu.get %sparse consumer 0 : channel<[!q, !u, !r]>
  %scale:3 = tile_gpu.get %scales consumer 0 : channel<[!m, !n, !o]>
"""
# An operation that reads rows of a shared buffer by their numbers.
ROWS = (
    "%i = arith.constant dense<0> : tensor<128xi32, "
    '"register=(0)(0)(0)(0)(0)(0) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128">\n'
    "%b = tile_gpu.shared : buffer<136x64xf16, shared, contiguous=1 swizzle=128B>\n"
    "%r = tile_gpu.{name} %b rows %i from 2 : buffer<136x64xf16, shared, contiguous=1 swizzle=128B>, tensor<128xi32, "
    '"register=(0)(0)(0)(0)(0)(0) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128"> -> tensor<128x64xf16, '
    '"register=(0,1)(0,2)(0,4)(0,8)(0,16)(0,32) lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x64">'
)
# An operation on a run of 128 rows, and of four for each of two taps, in both memories.
RUN, MOVED = "buffer<136x64xf16, shared, contiguous=1 swizzle=128B>", "buffer<128x64xf16, tensor, lanes=128 packed>"
RUNS = (
    f"%runs = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse once : channel<[{RUN}, {MOVED}]>\n"
    f"%run:2 = tile_gpu.get %runs consumer 0 : channel<[{RUN}, {MOVED}]>\n"
)
PLACED = f"{RUNS}%rows = tile_gpu.place_rows %run#0 : {RUN} -> {MOVED}\n"
MULTIPLIED = f"%product = tile_gpu.multiply f16 {{}}, %slot#1, %d accumulate %yes : {MOVED}, !b -> !d\n"
# An operation on the response to a request for a tile block.
RESPONSE = "buffer<4xi32, shared, contiguous=0 swizzle=none>"
CLAIMS = (
    f"%claims = tile_gpu.make_channel stages 2 producer claims consumers [threads] reuse ring : channel<[{RESPONSE}]>\n"
    f"%response = tile_gpu.put_begin %claims : channel<[{RESPONSE}]>\n"
)
# A line for each operation, which follows HEAD.
LINES = {
    "atomic_global": "%r = tile_gpu.atomic_global addf %y -> %at, mask %in vector 1 order acq_rel scope sys"
    " : !l -> tensor<128xi64, #line>",
    "atomic_view": "tile_gpu.atomic_view addf %y -> %p[%n] extents [%n] strides [%n] vector 1 inbounds [false]"
    " scope device : !l",
    "acquired": "%r = tile_gpu.acquired",
    "allocate": "%r = tile_gpu.allocate bytes 64 alignment 16",
    "assert": 'tile_gpu.assert %in, "in range" : tensor<128xi1, #line>',
    "barrier": "tile_gpu.barrier",
    "broadcast": "%z = arith.constant dense<0.0> : tensor<128x1xf32, #thin>\n"
    "%r = tile_gpu.broadcast %z : tensor<128x1xf32, #thin> -> !t",
    "cat": '%r = tile_gpu.cat %y, %y dimension 0 : !l, !l -> tensor<256xf32, "register=(128) lane=(1)(2)(4)(8)(16) '
    'warp=(32)(64) shape=256">',
    "claim_block": f"%r = tile_gpu.claim_block : {RESPONSE}",
    "claimed_block": f"{CLAIMS}%r:4 = tile_gpu.claimed_block %response : {RESPONSE}",
    "cluster_rank": "%r = tile_gpu.cluster_rank",
    "cluster_size": "%r = tile_gpu.cluster_size",
    "compare_and_swap_global": "%r = tile_gpu.compare_and_swap_global %y, %y -> %at order relaxed scope device"
    " : !l -> tensor<128xi64, #line>",
    "convert_layout": '%r = tile_gpu.convert_layout %y : !l -> tensor<128xf32, "register=(1) lane=(2)(4)(8)(16)(32) '
    'warp=(64)(0) shape=128">',
    "copy_global": "%q = arith.constant dense<0> : tensor<128x64xi64, #rows>\n"
    "%o = arith.constant dense<true> : tensor<128x64xi1, #rows>\n"
    "tile_gpu.copy_global %q, mask %o -> %slot#0 vector 8 : tensor<128x64xi64, #rows> -> !a",
    "copy_view": "%q = arith.constant dense<0> : tensor<128xi32, #line>\n"
    "tile_gpu.copy_view %p[%n, %n] extents [%n, %n] strides [%n, %n] indices %q along 0 -> %slot#0 vector 4 along 1"
    ' inbounds [true, false] layout "register=none lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=128" : !a',
    "dot": "%r = tile_gpu.dot %slot#0, %slot#1, %x : !a, !b -> !t",
    "differs_from_one": "%r = tile_gpu.differs_from_one %x : !t",
    "extract": "%r = tile_gpu.extract %y[%n] : !l -> f32",
    "fence_acquired": "tile_gpu.fence_acquired %n",
    "fence_alias": "tile_gpu.fence_alias",
    "fence_async": "tile_gpu.fence_async global_memory",
    "gdc_launch_dependents": "tile_gpu.gdc_launch_dependents",
    "gdc_wait": "tile_gpu.gdc_wait",
    "gather_parts": "%r = tile_gpu.gather_parts %y : !l -> tensor<1x128xf32, "
    '"register=none lane=(0,1)(0,2)(0,4)(0,8)(0,16) warp=(0,32)(0,64) shape=1x128">',
    "get": "%r:2 = tile_gpu.get %c consumer 1 : !c",
    "insert": "%r = tile_gpu.insert %y, %y[%n] : !l, !l -> !l",
    "global": "",
    "global_address": "%r = tile_gpu.global_address @table",
    "iota": "%r = tile_gpu.iota : tensor<128xi32, #line>",
    "kernel": "",
    "list_word": "%r = tile_gpu.list_word %p word 1 of 3 : i64",
    "load_global": "%r = tile_gpu.load_global %at, mask %in, other %y vector 1 constant : tensor<128xi64, #line> -> !l",
    "load_shared": "%r = tile_gpu.load_shared %w : !s -> !t",
    "load_shared_rows": ROWS.format(name="load_shared_rows"),
    "load_tensor_memory": "%r = tile_gpu.load_tensor_memory %d : !d -> !t",
    "load_view": '%r = tile_gpu.load_view %p[%n] extents [%n] strides [%n] vector 1 padding "nan"'
    " inbounds [false] : !l",
    "make_channel": "%r = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse once shares %e"
    " : channel<[!d]>",
    "make_tensor_map": '%r = tile_gpu.make_tensor_map "f32" %p[%n] strides [] box [32] swizzle none fill nan',
    "math": '%r = tile_gpu.math "exp2.approx.ftz" %x : !t -> !t',
    "multimem_load_view": "%r = tile_gpu.multimem_load_view add %p[%n] extents [%n] strides [%n] vector 1"
    ' padding "nan" order acquire scope device : !l',
    "multimem_reduce_view": "tile_gpu.multimem_reduce_view add %y -> %p[%n] extents [%n] strides [%n] vector 4 along 0"
    " inbounds [true] order relaxed scope sys : !l",
    "multimem_store_view": "tile_gpu.multimem_store_view %y -> %p[%n] extents [%n] strides [%n] vector 1 : !l",
    "num_programs": "%r = tile_gpu.num_programs 2",
    "order_signal": "tile_gpu.order_signal first",
    "order_wait": "tile_gpu.order_wait last",
    "pack": '%r = tile_gpu.pack %y dimension 0 : !l -> tensor<512xi8, "register=(1)(2) lane=(4)(8)(16)(32)(64) '
    'warp=(128)(256) shape=512">',
    "print": 'tile_gpu.print "%d of %f\\0A", %n, %y : i32, !l',
    "program_id": "%r = tile_gpu.program_id 1",
    "mma_sync": "%r = tile_gpu.mma_sync %slot#0, %slot#1, %x : !a, !b -> !t",
    "put_begin": "%r:2 = tile_gpu.put_begin %c first_round : !c",
    "put_commit": "tile_gpu.put_commit %c first_round : !c",
    "reduce": "%r = tile_gpu.reduce %y dimension 0 identities [0.0 : f32] : !l -> f32 (%i: f32, %j: f32) {\n"
    "%k = arith.addf %i, %j : f32\ntile_gpu.yield %k : f32\n}",
    "release": "tile_gpu.release %c consumer 0 : !c",
    "reshape": "%r = tile_gpu.reshape %y : !l -> tensor<128x1xf32, "
    '"register=none lane=(1,0)(2,0)(4,0)(8,0)(16,0) warp=(32,0)(64,0) shape=128x1">',
    "return": "tile_gpu.return",
    "roles": "tile_gpu.roles compute warps 4 { } load warps 1 { }",
    "scan": "%r = tile_gpu.scan %y dimension 0 reverse true identities [0.0 : f32] : !l -> !l (%i: f32, %j: f32) {\n"
    "%k = arith.addf %i, %j : f32\ntile_gpu.yield %k : f32\n}",
    "schedule_barrier": "tile_gpu.schedule_barrier",
    "shared": "%r = tile_gpu.shared shares %w : !a",
    "splat": "%r = tile_gpu.splat %f : f32 -> !l",
    "store_global": "tile_gpu.store_global %y -> %at, mask %in vector 1 order relaxed scope device"
    " : !l -> tensor<128xi64, #line>",
    "store_shared": "tile_gpu.store_shared %x, %w : !t -> !s",
    "store_tensor_memory": "tile_gpu.store_tensor_memory %x, %d : !t -> !d",
    "store_view": "%r = tile_gpu.iota : tensor<128xi32, #line>\n"
    "tile_gpu.store_view %y -> %p[%n] extents [%n] strides [%n] indices %r along 0 vector 1 : !l",
    "store_wait": "tile_gpu.store_wait read",
    "tcgen05_mma": "tile_gpu.tcgen05_mma f16 %slot#0, %slot#1 into %d accumulate %yes scale 3 skip [%n, %n, %n, %n]"
    " : !a, !b -> !d",
    "tcgen05_copy_rows": f"{RUNS}tile_gpu.tcgen05_copy_rows %run#0 -> %run#1 : {RUN} -> {MOVED}",
    "tcgen05_shift_rows": f"{RUNS}tile_gpu.tcgen05_shift_rows %run#0 tap 2 -> %run#1 : {RUN} -> {MOVED}",
    "tcgen05_copy_scales": "tile_gpu.tcgen05_copy_scales %scale#0 -> %scale#1 : !m -> !n",
    "tcgen05_mma_scaled": "tile_gpu.tcgen05_mma_scaled %side#0, %side#1 scaled %scale#1, %scale#2 into %d"
    " accumulate %yes : !g, !j, !n, !o -> !d",
    "tcgen05_mma_sparse": "tile_gpu.tcgen05_mma_sparse f16 %part#0, %part#1 sparse %part#2 into %d accumulate %yes"
    " : !q, !u, !r -> !d",
    "load_tile": "%r = tile_gpu.load_tile %map[%n, %n] : !a",
    "gather_tile": '%m = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 1] swizzle 128B fill zero\n'
    "%q = arith.constant dense<0> : tensor<128xi32, #line>\n"
    "%rows = tile_gpu.place %q : tensor<128xi32, #line> -> buffer<128xi32, shared, contiguous=0 swizzle=none>\n"
    "%r = tile_gpu.gather_tile %m[%n] rows %rows : buffer<128xi32, shared, contiguous=0 swizzle=none> -> !a",
    "store_tile": "tile_gpu.store_tile %slot#0 -> %map[%n, %n] reduction add after_stores after_itself"
    " after_accesses : !a",
    "place": "%r = tile_gpu.place %x group 1 : !t -> !d",
    "read": "%r = tile_gpu.read %d : !d -> !t",
    "read_rows": ROWS.format(name="read_rows"),
    "undefined": "%r = tile_gpu.undefined : !d",
    "multiply": "%r = tile_gpu.multiply f16 %slot#0, %slot#1, %d accumulate %yes skip [%n, %n, %n, %n] : !a, !b -> !d",
    "place_rows": f"{RUNS}%r = tile_gpu.place_rows %run#0 : {RUN} -> {MOVED}",
    "rows_in_interval": "%r:4 = tile_gpu.rows_in_interval %n period 9 from 8 to 9",
    "zero_rows": "%r:2 = tile_gpu.zero_rows %n period 9 from 8 to 9 of 128 by 32",
    "shift_rows": f"{PLACED}{MULTIPLIED.format('%rows')}"
    f"%r = tile_gpu.shift_rows %rows from %run#0 tap 1 : {RUN} -> {MOVED}",
    "place_scales": "%r = tile_gpu.place_scales %scale#0 : !m -> !n",
    "multiply_scaled": "%r = tile_gpu.multiply_scaled %side#0, %side#1 scaled %scale#1, %scale#2, %d accumulate %yes"
    " : !g, !j, !n, !o -> !d",
    "multiply_sparse": "%r = tile_gpu.multiply_sparse f16 %part#0, %part#1 sparse %part#2, %d accumulate %yes"
    " : !q, !u, !r -> !d",
    "skip": "tile_gpu.skip %c consumer 1 by %n : !c, i32",
    "slot": "%r = tile_gpu.slot %e : channel<[!d]>",
    "tma_gather": '%m = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [64, 1] swizzle 128B fill zero\n'
    "%r = tile_gpu.shared : buffer<128xi32, shared, contiguous=0 swizzle=none>\n"
    "tile_gpu.tma_gather %m[%n] rows %r -> %slot#0 of %c : buffer<128xi32, shared, contiguous=0 swizzle=none> -> !a",
    "tma_load": "tile_gpu.tma_load %map[%n, %n] -> %slot#0 of %c : !a",
    "tma_prefetch": "tile_gpu.tma_prefetch %map[%n, %n]",
    "tma_store": "tile_gpu.tma_store %slot#0 -> %map[%n, %n] end %n : !a",
    "try_cancel": f"{CLAIMS}tile_gpu.try_cancel %response of %claims : {RESPONSE}, channel<[{RESPONSE}]>",
    "transpose": "%r = tile_gpu.transpose %x [1, 0] : !t -> tensor<64x128xf32, "
    '"register=(1,0)(2,0)(4,0)(8,0)(16,0)(32,0) lane=(0,1)(0,2)(0,4)(0,8)(0,16) warp=(0,32)(0,64) shape=64x128">',
    "unpack": "%z = arith.constant dense<0> : tensor<128xi8, #line>\n%r = tile_gpu.unpack %z dimension 0 : "
    'tensor<128xi8, #line> -> tensor<256xf4E2M1FN, "register=(1) lane=(2)(4)(8)(16)(32) warp=(64)(128) shape=256">',
    "view_buffer": "%r = tile_gpu.view_buffer %slot#0 : !a -> buffer<64x128xf16, shared, contiguous=0 swizzle=128B>",
    "wgmma": "%r = tile_gpu.wgmma f16 %slot#0, %slot#1, %x : !a, !b -> !t",
    "wgmma_wait": "%r = tile_gpu.wgmma_wait %x pending 0 : !t",
    "yield": "%r = tile_gpu.reduce %y dimension 0 identities [0.0 : f32] : !l -> f32 (%i: f32, %j: f32) {\n"
    "tile_gpu.yield %i : f32\n}",
}
NAMES = [name.removeprefix("tile_gpu.") for name in OPERATIONS if name.startswith("tile_gpu.")]


def test_table_has_every_operation() -> None:
    assert sorted(LINES) == sorted(NAMES)


# Operations with optional operands and attributes.
MORE_LINES = {
    "tcgen05_mma negated": "tile_gpu.tcgen05_mma f16 negated %slot#0, %slot#1 from 0 depth 32 into %d"
    " accumulate %yes : !a, !b -> !d",
    "multiply negated": "%r = tile_gpu.multiply f16 negated %slot#0, %slot#1, %d accumulate %yes : !a, !b -> !d",
    "wgmma negated": "%r = tile_gpu.wgmma f16 negated %slot#0, %slot#1, %x : !a, !b -> !t",
    "wgmma with factors": "%r = tile_gpu.wgmma f16 promote %slot#0, %slot#1, %x times [%x, %x] : !a, !b -> !t",
    "wgmma with metadata": "%words = arith.constant dense<0> : !e\n"
    "%r = tile_gpu.wgmma f16 %slot#0, %part#1 sparse %words : !e, %x : !a, !u -> !t",
    "mma_sync with metadata": "%words = arith.constant dense<0> : !e\n"
    "%r = tile_gpu.mma_sync %slot#0, %part#1 sparse %words : !e, %x : !a, !u -> !t",
}


@pytest.mark.parametrize("name", [*LINES, *MORE_LINES])
def test_operation_round_trips(name: str) -> None:
    line = {**LINES, **MORE_LINES}[name]
    module = read_stage_module(f"{HEAD}  {line}\n}}\n", "<k>")
    assert module.operation.verify()
    text = print_stage(module)
    assert re.search(rf"tile_gpu\.{name.split()[0]}\b", text) or name == "return"
    again = read_stage_module(text, "<k>")
    assert stage_module_text(again, generic=True) == stage_module_text(module, generic=True)
    # The generic form is read as the same module.
    generic = stage_module_text(module, generic=True)
    assert stage_module_text(read_stage_module(generic, "<k>")) == text
