"""The verifier rejects invalid operations of tile_gpu with a message that states the rule."""

from __future__ import annotations

import re

import pytest
from test_every_operation import CLAIMS, HEAD, LINES, MOVED, MULTIPLIED, PLACED, RESPONSE, RUN, RUNS

from tilec.dialect.operation import OPERATIONS
from tilec.errors import VerificationError
from tilec.text_input.stage_module import read_stage_module

HALF = "tensor<128x64xf16, #rows>"
COLUMN = "tensor<128x1xf32, #thin>"
LONG = 'tensor<256xf32, "register=(128) lane=(1)(2)(4)(8)(16) warp=(32)(64) shape=256">'
ROWS = (
    "%r = tile_gpu.iota : tensor<128xi32, #line>\n"
    "tile_gpu.store_view %x -> %p[%n, %n] extents [%n, %n] strides [%n, %n]"
)
GATHER = (
    '%m = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [{}] swizzle 128B fill zero\n'
    "%r = tile_gpu.shared : buffer<{}, shared, contiguous=0 swizzle=none>\n"
    "tile_gpu.tma_gather %m[%n] rows %r -> %slot#0 of %c : buffer<{}, shared, contiguous=0 swizzle=none> -> !a"
)
SCATTER = (
    '%m = tile_gpu.make_tensor_map "f16" %p[%n, %n] strides [%n] box [{}] swizzle 128B fill zero\n'
    "%r = tile_gpu.shared : buffer<128xi32, shared, contiguous=0 swizzle=none>\n"
    "tile_gpu.tma_store %slot#0 -> %m[%n{}] rows %r : buffer<128xi32, shared, contiguous=0 swizzle=none>{} : !a"
)
PLAIN = "buffer<128x64xf16, shared, contiguous=1 swizzle=none>"
MAP = "%r = tile_gpu.make_tensor_map"
WORDS = "%words = arith.constant dense<0> : !e\n"
MULTIPLY = "tile_gpu.tcgen05_mma f16 %slot#0, %slot#1"
INSIDE = "tile_gpu.tcgen05_mma f16 %run#0, %slot#1 into %d accumulate %yes"
COPY = "tile_gpu.tma_load %r[%n, %n] -> %slot#0 of %c : !a"
PRODUCT = "%m = tile_gpu.multiply f16 %slot#0, %slot#1, %d accumulate %yes : !a, !b -> !d\n"
POINTERS = "tensor<128x64xi64, #rows>"
LISTED = (
    "%word = tile_gpu.list_word %p word 0 of 5 : i64\n"
    '%m = tile_gpu.make_tensor_map "f16" %word[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero\n'
)
ROW_NUMBERS = "buffer<128xi32, shared, contiguous=0 swizzle=none>"
INDICES = f"%rows = tile_gpu.shared : {ROW_NUMBERS}\n"
COPIED = f"%q = arith.constant dense<0> : {POINTERS}\n"
REVERSED = 'tensor<128xf32, "register=none lane=(64)(32)(16)(8)(4) warp=(2)(1) shape=128">'
BYTES = "buffer<128x128xf8E4M3FN, shared, contiguous=1 swizzle=128B>"
SIX_BITS = "buffer<128x128xi8, shared, contiguous=1 swizzle=128B packed=6>"
SIDES = f"%six = tile_gpu.shared : {SIX_BITS}\n%bytes = tile_gpu.shared : {BYTES}\n"
SIX_BIT_MAP = (
    '%m = tile_gpu.make_tensor_map "u6_align16b" %p[%n, %n] strides [%n] box [128, 128] swizzle 128B fill zero\n'
)
FACTORS = "scaled %scale#1, %scale#2 into %d accumulate %yes"
SELECTED_ROWS = LINES["load_shared_rows"]
SELECTED_FROM = "136x64xf16, shared, contiguous=1 swizzle=128B"
# A line that follows HEAD, and the message without the name of the operation.
REFUSALS = {
    "%r = tile_gpu.splat %n : i32 -> !l": "source and result must have the same element type, but got i32 and f32",
    "%r:4 = tile_gpu.claimed_block %slot#0 : !a": f"expected the buffer of a response, {RESPONSE}",
    "%r = tile_gpu.claim_block : !a": f"expected the buffer of a response, {RESPONSE}, but got",
    f"{CLAIMS}tile_gpu.try_cancel %slot#0 of %claims : !a, channel<[{RESPONSE}]>": "expected the buffer of a response",
    f"{CLAIMS}tile_gpu.try_cancel %response of %c : {RESPONSE}, !c": "a channel with producer claims, but got tma",
    "%r = tile_gpu.iota : !l": "expected a tile of one dimension with integer elements",
    "%r = tile_gpu.broadcast %y : !l -> !t": "expected each source extent to be 1 or that of the result, but got [128]",
    f"%r = tile_gpu.reshape %y : !l -> {LONG}": "source and result must have equally many elements, but got [128]",
    f"%r = tile_gpu.reshape %x : !t -> {HALF}": "the same element type, but got f32 and f16",
    "%r = tile_gpu.transpose %x [0, 0] : !t -> !t": "expected a permutation of 2 dimensions, but got [0, 0]",
    "%r = tile_gpu.transpose %x [1, 0] : !t -> !t": "permutation [1, 0] of [128, 64] does not give [128, 64]",
    f"%r = tile_gpu.convert_layout %y : !l -> {LONG}": "source and result must have the same shape, but got [128]",
    "%r = tile_gpu.extract %x[%n] : !t -> f32": "expected 2 indices, but got 1",
    f"%r = tile_gpu.extract %y[%n] : !l -> {LONG}": "expected extents of the part that divide those of the whole",
    "%r = tile_gpu.extract %y[%n] : !l -> i32": "the same element type, but got f32 and i32",
    "%r = tile_gpu.insert %y, %y[] : !l, !l -> !l": "expected 1 indices, but got 0",
    f"%r = tile_gpu.insert %y, %y[%n] : !l, !l -> {LONG}": "destination and result must have the same type, but got",
    "%r = tile_gpu.insert %y, %x[%n, %n] : !l, !t -> !t": "expected extents of the part that divide those of the whole",
    f"%r = tile_gpu.cat %y, %y dimension 1 : !l, !l -> {LONG}": "expected a dimension below 1, but got 1",
    "%r = tile_gpu.cat %y, %y dimension 0 : !l, !l -> !l": "expected two tiles of [128] and a result of [256]",
    f"%o = arith.constant dense<0.0> : {REVERSED}\n"
    f"%r = tile_gpu.cat %y, %o dimension 0 : !l, {REVERSED} -> {LONG}": "the tiles must have one layout",
    f"%o = arith.constant dense<0.0> : {REVERSED}\n"
    f'%r = tile_gpu.math "div.full" %y, %o : !l, {REVERSED} -> !l': "the tiles must have one layout",
    '%r = tile_gpu.math "rsqrt.approx" polynomials 4 %y : !l -> !l': (
        "expected 'exp2.approx.ftz' or 'exp2.approx' of a tile of f32"
    ),
    '%r = tile_gpu.math "exp2.approx.ftz" polynomials 4 %n : i32 -> i32': "but got 'exp2.approx.ftz' of i32",
    '%r = tile_gpu.math "exp2.approx.ftz" polynomials 0 %y : !l -> !l': "1 to 15 of 16 polynomials, but got 0",
    '%r = tile_gpu.math "exp2.approx.ftz" polynomials 16 %y : !l -> !l': "1 to 15 of 16 polynomials, but got 16",
    "%r = tile_gpu.load_shared %w : !s -> !h": "tile and buffer must agree, but got",
    SELECTED_ROWS.replace("128x64xf16", "128x64xf32"): (
        "expected a tile and a buffer of matrices of one element, but got tensor<128x64xf32"
    ),
    SELECTED_ROWS.replace(SELECTED_FROM, "136x32xf16, shared, contiguous=1 swizzle=64B"): (
        "expected rows of 32 elements, as the buffer has, but got tensor<128x64xf16"
    ),
    SELECTED_ROWS.replace("contiguous=1", "contiguous=0"): (
        "expected a buffer whose rows are contiguous, but got buffer<136x64xf16, shared, contiguous=0"
    ),
    SELECTED_ROWS.replace("xi32", "xi64"): "expected 128 numbers of rows of i32, but got tensor<128xi64",
    SELECTED_ROWS.replace("from 2", "from 136"): "expected a first row from 0 to 135, but got 136",
    LINES["read_rows"].replace("from 2", "from -1"): "expected a first row from 0 to 135, but got -1",
    f"{SIDES}{SIX_BIT_MAP}tile_gpu.tma_store %bytes -> %m[%n, %n] : {BYTES}": (
        "expected a buffer of u6_align16b, the element of the map, but got buffer<"
    ),
    f"{SIX_BIT_MAP}%w4 = tile_gpu.shared : {SIX_BITS.replace('packed=6', 'packed=4')}\n"
    f"tile_gpu.tma_store %w4 -> %m[%n, %n] : {SIX_BITS.replace('packed=6', 'packed=4')}": (
        "expected a buffer of u6_align16b, the element of the map, but got buffer<"
    ),
    f"{SIX_BIT_MAP.replace('128, 128', '64, 128')}": (
        "expected rows of the box of 128 bytes with swizzle 128B, but got 64 bytes"
    ),
    f"{SIDES}tile_gpu.tcgen05_mma f6E2M3FN %bytes, %bytes into %d accumulate %yes : {BYTES}, {BYTES} -> !d": (
        "expected MxK, KxN and MxN"
    ),
    f"{SIDES}%other = tile_gpu.shared : buffer<128x64xf8E5M2, shared, contiguous=0 swizzle=64B>\n"
    f"tile_gpu.tcgen05_mma f6E2M3FN %bytes, %other into %d accumulate %yes : {BYTES}, "
    "buffer<128x64xf8E5M2, shared, contiguous=0 swizzle=64B> -> !d": (
        "expected a buffer of i8 with packed=6 for f6E2M3FN, but got buffer<128x128xf8E4M3FN"
    ),
    f"{SIDES}%other = tile_gpu.shared : buffer<128x64xf8E5M2, shared, contiguous=0 swizzle=64B>\n"
    f"tile_gpu.tcgen05_mma i8 %six, %other into %d accumulate %yes : {SIX_BITS}, "
    "buffer<128x64xf8E5M2, shared, contiguous=0 swizzle=64B> -> !d": (
        "expected operands of one element, or of f8E4M3FN or f8E5M2, but got i8 and f8E5M2"
    ),
    f"{SIDES}%other = tile_gpu.shared : buffer<128x64xi8, shared, contiguous=0 swizzle=64B>\n"
    f"tile_gpu.tcgen05_mma i8 %six, %other into %d accumulate %yes : {SIX_BITS}, "
    "buffer<128x64xi8, shared, contiguous=0 swizzle=64B> -> !d": (
        "expected a buffer that is not packed for i8, but got buffer<128x128xi8"
    ),
    f"{SIDES}tile_gpu.tcgen05_mma_scaled %side#0, %side#1 {FACTORS} lhs_kind f6E3M2FN : !g, !j, !n, !o -> !d": (
        "expected a buffer of i8 with packed=6 for f6E3M2FN, but got buffer<"
    ),
    "tile_gpu.store_shared %y, %w : !l -> !s": "tile and buffer must agree, but got",
    f"{COPIED}tile_gpu.copy_global %q -> %slot#0 vector 1 : {POINTERS} -> !a": "a copy has 4, 8 or 16 bytes, but got 1",
    f"{COPIED}tile_gpu.copy_global %q -> %slot#0 vector 16 : {POINTERS} -> !a": "16 bytes, but got 16 elements of f16",
    f"{COPIED}tile_gpu.copy_global %q -> %slot#1 vector 8 : {POINTERS} -> !b": "expected a pointer for each element of",
    f"{COPIED}tile_gpu.copy_global %q, mask %in -> %slot#0 vector 8 : {POINTERS} -> !a": "a mask in the layout of the",
    'tile_gpu.copy_view %p[%n] extents [%n] strides [%n] -> %slot#0 vector 8 along 0 layout "" : !a': (
        "expected 2 offsets, extents and strides each, but got [1, 1, 1]"
    ),
    "%r = tile_gpu.make_channel stages 1 producer tma consumers [copies] reuse ring : !c": (
        "the role copy reads slots that threads or claims fill, but got producer tma"
    ),
    "%r = tile_gpu.make_channel stages 1 producer copies consumers [threads] reuse ring : !c": (
        "copies fill slots for mma and wgmma, but got ['threads']"
    ),
    "%r = tile_gpu.make_channel stages 1 producer copies consumers [mma] reuse once : channel<[!d]>": (
        "copies fill slots of shared memory alone"
    ),
    "%r = tile_gpu.load_tensor_memory %d : !d -> !h": "tile and buffer must agree, but got",
    "%r = tile_gpu.load_tensor_memory %d from 0 : !d -> !h": "tile and buffer must agree in rows and elements, but got",
    "%r = tile_gpu.load_tensor_memory %d from 64 : !d -> !t": "a first column that is a multiple of 64 from 0 to 0",
    "tile_gpu.tma_load %map[%n] -> %slot#0 of %c : !a": "expected 2 coordinates of a map of 2 dimensions, but got 1",
    "%r = tile_gpu.list_word %p word 5 of 5 : i64": "expected a word of 1 + 2 * rank words, but got word 5 of 5",
    "%r = tile_gpu.list_word %p word 1 of 4 : i64": "expected a word of 1 + 2 * rank words, but got word 1 of 4",
    f"{LISTED}tile_gpu.tma_load %m[%n, %n] -> %slot#0 of %c : !a": (
        "expected 3 coordinates of a map of 2 dimensions, but got 2"
    ),
    f"{LISTED}{INDICES}tile_gpu.tma_gather %m[%n] rows %rows -> %slot#0 of %c : {ROW_NUMBERS} -> !a": (
        "expected the map of one matrix, not of the arrays of a list"
    ),
    "tile_gpu.tma_store %w -> %map[%n, %n] : !s": "expected a buffer of f16, the element of the map, but got buffer<",
    "tile_gpu.tma_load %map[%n, %n] -> %slot#1 of %c : !b": "expected a buffer of whole boxes [64, 128], but got",
    '%r = tile_gpu.make_tensor_map "f32" %p[%n] strides [%n] box [32] swizzle none fill nan': "expected 1 extents",
    f'{MAP} "f48" %p[%n] strides [] box [32] swizzle none fill zero': "expected an element of i1, i8, i16, i32, ",
    f'{MAP} "f16" %p[%n] strides [] box [4] swizzle none fill zero': (
        "expected rows of the box of a multiple of 16 bytes, but got 8 bytes"
    ),
    f'{MAP} "f16" %p[%n] strides [] box [32] swizzle 128B fill zero': (
        "expected rows of the box of 128 bytes with swizzle 128B, but got 64 bytes"
    ),
    f'{MAP} "f16" %p[%n, %n] strides [%n] box [32, 128] swizzle 64B fill zero\n{COPY}': (
        "expected a buffer with swizzle 64B, that of the map, but got buffer<128x64xf16"
    ),
    f'{MAP} "f16" %p[%n, %n] strides [%n] box [64, 64] swizzle 128B fill zero\n{COPY}': (
        "expected a buffer of whole boxes [64, 64], but got buffer<128x64xf16"
    ),
    "tile_gpu.release %c consumer 2 : !c": "the channel has 2 consumers, but this one is number 2",
    "%once = tile_gpu.make_channel stages 1 producer tma consumers [threads] reuse ring : !c\n"
    "tile_gpu.release %once consumer 0 late : !c": "a late release needs at least 2 stages, but the channel has 1",
    "%r = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring : channel<[!a, !a, !a, !a, !a]>": (
        "a slot has at most 4 buffers, but got 5"
    ),
    "%h = arith.constant dense<0.0> : !h\n%r = tile_gpu.differs_from_one %h : !h": (
        "expected a tile of f32, but got elements of f16"
    ),
    "%r = tile_gpu.differs_from_one %x : !t\nscf.if %r {\n  tile_gpu.barrier\n}": (
        "expected only operations of one warp in the branch, but got tile_gpu.barrier"
    ),
    "%r = tile_gpu.differs_from_one %x : !t\n%s = arith.xori %r, %yes : i1": (
        "expected only branches without results as uses, but got arith.xori"
    ),
    "tile_gpu.skip %c consumer 2 by %n : !c, i32": "the channel has 2 consumers, but this one is number 2",
    "tile_gpu.skip %c consumer 1 by %p : !c, i64": "operand #1 must be i32, but got 'i64'",
    "%r:2 = tile_gpu.get %c consumer 7 : !c": "the channel has 2 consumers, but this one is number 7",
    "%r = tile_gpu.dot %slot#1, %slot#0, %x : !b, !a -> !t": "expected MxK, KxN and MxN, but got",
    f"{MULTIPLY} from 48 depth 32 into %d accumulate %yes : !a, !b -> !d": (
        "expected a part of the 64 elements along K in steps of 16, but got 32 from 48"
    ),
    f"{MULTIPLY} from 8 depth 16 into %d accumulate %yes : !a, !b -> !d": (
        "expected a part of the 64 elements along K in steps of 16, but got 16 from 8"
    ),
    f"{MULTIPLY} from 0 depth 0 into %d accumulate %yes : !a, !b -> !d": (
        "expected a part of the 64 elements along K in steps of 16, but got 0 from 0"
    ),
    "%left = tile_gpu.shared : buffer<128x64xi8, shared, contiguous=1 swizzle=64B>\n"
    "%right = tile_gpu.shared : buffer<64x64xi8, shared, contiguous=0 swizzle=64B>\n"
    "%z = arith.constant dense<0> : tensor<128x64xi32, #rows>\n"
    "%r = tile_gpu.wgmma i8 negated %left, %right, %z : buffer<128x64xi8, shared, contiguous=1 swizzle=64B>, "
    "buffer<64x64xi8, shared, contiguous=0 swizzle=64B> -> tensor<128x64xi32, #rows>": (
        "expected operands of floats with negated, but got i8"
    ),
    "%r = tile_gpu.dot rhs_unsigned %slot#0, %slot#1, %x : !a, !b -> !t": "expected operands of i8 with lhs_unsigned",
    f"%r = tile_gpu.pack %y dimension 1 : !l -> {LONG}": "expected a dimension below 1, but got 1",
    f"%r = tile_gpu.pack %y dimension 0 : !l -> {LONG}": "expected bytes, elements of i8, but got f32",
    "%r = tile_gpu.pack %y dimension 0 : !l -> tensor<128xi8, #line>": (
        "expected 4096 bits along dimension 0 to be the bytes of [512], but got [128]"
    ),
    "%r = tile_gpu.unpack %y dimension 0 : !l -> tensor<128xf16, #line>": "expected bytes, elements of i8, but got f32",
    "%r = tile_gpu.load_view %p[%n] extents [%n] strides [%n] vector 1 : tensor<128xf4E2M1FN, #line>": (
        "elements of f4E2M1FN share bytes: expected a tile of i8"
    ),
    f"{RUNS}%r = tile_gpu.place_rows %run#0 : {RUN} -> buffer<128x64xf16, tensor, lanes=128>": (
        "expected 128 rows in the layout 'lanes=128 packed', but got buffer<128x64xf16, tensor, lanes=128>"
    ),
    f"{RUNS}%r = tile_gpu.place_rows %slot#1 : !b -> {MOVED}": (
        "expected a run of at least 128 rows in the layout contiguous=1 swizzle=64B or contiguous=1 swizzle=128B"
    ),
    f"{RUNS}tile_gpu.tcgen05_copy_rows %part#1 -> %run#1 : !u -> {MOVED}": (
        "expected a run of at least 128 rows in the layout contiguous=1 swizzle=64B or contiguous=1 swizzle=128B"
    ),
    f"{RUNS}tile_gpu.tcgen05_copy_rows %side#0 -> %run#1 : !g -> {MOVED}": (
        "expected rows of one length and element, but got buffer<128x64xf8E4M3FN"
    ),
    f"{RUNS}tile_gpu.tcgen05_shift_rows %run#0 tap 3 -> %run#1 : {RUN} -> {MOVED}": (
        "expected a tap from 1 to 2, whose rows the run has, but got 3"
    ),
    f"{RUNS}%r = tile_gpu.shift_rows %run#1 from %run#0 tap 0 : {RUN} -> {MOVED}": (
        "expected a tap from 1 to 2, whose rows the run has, but got 0"
    ),
    f"{RUNS}%r = tile_gpu.shift_rows %run#1 from %run#0 tap 1 : {RUN} -> {MOVED}": (
        "expected rows of tile_gpu.place_rows or tile_gpu.shift_rows"
    ),
    f"{PLACED}{MULTIPLIED.format('%rows')}%r = tile_gpu.shift_rows %rows from %run#0 tap 2 : {RUN} -> {MOVED}": (
        "expected tap 1 of the run whose rows are shifted, but got tap 2"
    ),
    f"{PLACED}%r = tile_gpu.shift_rows %rows from %run#0 tap 1 : {RUN} -> {MOVED}": (
        "expected a multiply of the rows before they are shifted again"
    ),
    f"{PLACED}%r = tile_gpu.shift_rows %rows from %run#0 tap 1 : {RUN} -> {MOVED}\n{MULTIPLIED.format('%rows')}": (
        "rows are shifted in the block of their copy, and have no later use"
    ),
    "%r:4 = tile_gpu.rows_in_interval %n period 9 from 3 to 3": (
        "expected an interval inside of a period of 9, but got 3 to 3"
    ),
    f"{PLACED}{MULTIPLIED.format('%rows')}%r = tile_gpu.shift_rows %rows from %run#0 tap 1 after_ashift"
    f" : {RUN} -> {MOVED}": "expected one multiply of the rows, with ashift, before they are shifted, but got 0 of 1",
    "%r:2 = tile_gpu.zero_rows %n period 9 from 3 to 10 of 128 by 32": (
        "expected an interval inside of a period of 9, but got 3 to 10"
    ),
    "%r:2 = tile_gpu.zero_rows %n period 9 from 0 to 9 of 128 by 32": (
        "expected 1 to 256 rows of a period that are zero, and as many others, but got 9 of 9"
    ),
    "%r:2 = tile_gpu.zero_rows %n period 300 from 8 to 9 of 128 by 32": (
        "expected 1 to 256 rows of a period that are zero, and as many others, but got 1 of 300"
    ),
    "%r:2 = tile_gpu.zero_rows %n period 9 from 8 to 9 of 128 by 48": (
        "expected 32, 64 or 128 columns, and rows for each group of lanes, but got 48, 128"
    ),
    "%r:4 = tile_gpu.rows_in_interval %n period 9 from 3 to 10": (
        "expected an interval inside of a period of 9, but got 3 to 10"
    ),
    f"{MULTIPLY} into %d accumulate %yes ashift : !a, !b -> !d": (
        "expected all of 128 rows of lhs in tensor memory with ashift, but got buffer<128x64xf16"
    ),
    f"{PLACED}{MULTIPLIED.format('%rows').replace('%yes', '%yes ashift')}"
    f"%r = tile_gpu.shift_rows %rows from %run#0 tap 1 : {RUN} -> {MOVED}": (
        "expected no multiply with ashift before they are shifted, but got 1 of 1"
    ),
    f"{MULTIPLY} into %d accumulate %yes scale 16 : !a, !b -> !d": "expected a scale from 1 to 15, but got 16",
    f"{MULTIPLY} into %d accumulate %yes scale 0 : !a, !b -> !d": "expected a scale from 1 to 15, but got 0",
    f"{SIDES}%other = tile_gpu.shared : buffer<128x64xf8E5M2, shared, contiguous=0 swizzle=64B>\n"
    f"tile_gpu.tcgen05_mma f8E4M3FN %bytes, %other into %d accumulate %yes scale 1 : {BYTES}, "
    "buffer<128x64xf8E5M2, shared, contiguous=0 swizzle=64B> -> !d": (
        "expected operands of f16, bf16 or tf32 and an accumulator of f32, not transposed, with scale, but got f8E4M3FN"
    ),
    f"{MULTIPLY} into %d accumulate %yes skip [%n] : !a, !b -> !d": (
        "expected 4 words of skipped rows for each 128 rows of one CTA or of a pair, but got 1 for buffer<128x64xf32"
    ),
    f"{RUNS}{INSIDE} : {RUN}, !b -> !d": "expected MxK, KxN and MxN, but got",
    f"{RUNS}{INSIDE} shifted 9 : {RUN}, !b -> !d": "expected rows from 0 to 135 of lhs, but got 9 to 136",
    f"{RUNS}{INSIDE} shifted -1 : {RUN}, !b -> !d": "expected rows from 0 to 135 of lhs, but got -1 to 126",
    f"{RUNS}{INSIDE} shifted 0 every 8 by 9 : {RUN}, !b -> !d": "expected rows from 0 to 135 of lhs, but got 0 to 142",
    f"{RUNS}{INSIDE} shifted 0 every 64 by 66 : {RUN}, !b -> !d": (
        "expected a period of 8 or of a multiple of 128 rows, which divides 128 rows, and no smaller pitch, but got 64"
    ),
    f"{RUNS}{INSIDE} shifted 0 every 8 by 7 : {RUN}, !b -> !d": "no smaller pitch, but got 8 by 7",
    f"{RUNS}{INSIDE} every 8 by 8 : {RUN}, !b -> !d": "expected shifted and an accumulator that is not transposed",
    f"{RUNS}{INSIDE} shifted 0 {{period = 8 : i32}} : {RUN}, !b -> !d": "expected a period with a pitch, or none of",
    f"{PLACED}{MULTIPLIED.format('%rows').replace('%yes', '%yes shifted 0')}": (
        "expected lhs in shared memory in the layout contiguous=1 swizzle=32B or contiguous=1 swizzle=64B or"
    ),
    "%r = tile_gpu.wgmma f16 %slot#0, %slot#1, %x shifted 0 every 96 by 98 : !a, !b -> !t": (
        "expected a period of 8 or of a multiple of 64 rows, which divides 128 rows"
    ),
    "tile_gpu.tcgen05_copy_scales %scale#0 -> %scale#2 : !m -> !o": "source and destination must agree, but got",
    "tile_gpu.tcgen05_mma_scaled %side#0, %side#1 scaled %scale#2, %scale#1 into %d accumulate %yes"
    " : !g, !j, !o, !n -> !d": "no kind multiplies buffer<128x64xf8E4M3FN, shared, contiguous=1 swizzle=64B> and",
    "tile_gpu.tcgen05_mma_scaled %side#0, %side#1 scaled %scale#1, %scale#1 into %d accumulate %yes"
    " : !g, !j, !n, !n -> !d": "expected scale factors MxS and SxN, but got (128, 2) and (128, 2)",
    "tile_gpu.tcgen05_mma_sparse f16 %part#0, %slot#1 sparse %part#2 into %d accumulate %yes : !q, !b, !r -> !d": (
        "expected MxK/2, KxN and MxN, but got (128, 64), (64, 64) and (128, 64)"
    ),
    "tile_gpu.tcgen05_mma_sparse f16 %part#0, %part#1 sparse %scale#1 into %d accumulate %yes : !q, !u, !n -> !d": (
        "expected metadata of (128, 4) words with the layout 'sparse_metadata', but got buffer<128x2xf8E8M0FNU"
    ),
    "tile_gpu.tcgen05_mma_sparse f16 lhs_unsigned %part#0, %part#1 sparse %part#2 into %d accumulate %yes"
    " : !q, !u, !r -> !d": "expected operands of i8 with lhs_unsigned or rhs_unsigned, but got f16",
    "%half = tile_gpu.shared : buffer<64x64xf16, shared, contiguous=1 swizzle=128B>\n"
    "%place = tile_gpu.undefined : buffer<64x64xf32, tensor, lanes=64>\n"
    "tile_gpu.tcgen05_mma_sparse f16 %half, %part#1 sparse %part#2 into %place accumulate %yes"
    " : buffer<64x64xf16, shared, contiguous=1 swizzle=128B>, !u, !r -> buffer<64x64xf32, tensor, lanes=64>": (
        "expected blocks of 128 rows of whole steps of a kind with sparsity, but got buffer<64x64xf16"
    ),
    f"{WORDS}%r = tile_gpu.wgmma f16 %slot#0, %slot#1 sparse %words : !e, %x : !a, !b -> !t": (
        "expected MxK/2, KxN and MxN, but got (128, 64), (64, 64) and tensor<128x64xf32"
    ),
    f"{WORDS}%r = tile_gpu.wgmma f16 %slot#0, %part#1 sparse %x : !t, %x : !a, !u -> !t": (
        "expected metadata of [128, 4] words of i32, but got tensor<128x64xf32"
    ),
    f"{WORDS}%r = tile_gpu.mma_sync %slot#0, %slot#1 sparse %words : !e, %x : !a, !b -> !t": (
        "expected MxK/2, KxN and MxN, but got (128, 64), (64, 64) and tensor<128x64xf32"
    ),
    f"{WORDS}%r = tile_gpu.mma_sync %slot#0, %part#1 sparse %x : !t, %x : !a, !u -> !t": (
        "expected metadata of [128, 4] words of i32, but got tensor<128x64xf32"
    ),
    f"{WORDS}%h = arith.constant dense<0.0> : !h\n"
    "%r = tile_gpu.wgmma f16 %h, %part#1 sparse %words : !e, %x : !h, !u -> !t": (
        "expected a kind with sparsity and lhs in shared memory, but got f16, tensor<128x64xf16"
    ),
    "tile_gpu.store_global %y -> %at, mask %in vector 1 order relaxed : !l -> tensor<128xi64, #line>": (
        "order and scope come together"
    ),
    "tile_gpu.tma_store %slot#0 -> %map[%n, %n] reduction or : !a": "reduction or takes i32, u32, i64, u64, but",
    "tile_gpu.tma_store %slot#0 -> %map[%n, %n] end %n reduction add : !a": "no end of rows with a reduction",
    '%m = tile_gpu.make_tensor_map "i64" %p[%n, %n] strides [%n] box [16, 128] swizzle none fill zero\n'
    f"%r = tile_gpu.shared : {PLAIN}\ntile_gpu.tma_store %r -> %m[%n, %n] end %n : {PLAIN}": (
        "expected a map of f16, the element of the buffer, with an end of rows"
    ),
    "%r = tile_gpu.atomic_global add %y -> %at vector 1 order relaxed scope device : !l -> tensor<128xi64, #line>": (
        "mode add updates elements of i32, i64, but got f32"
    ),
    "%r = tile_gpu.atomic_global addf %y -> %at vector 8 order relaxed scope device : !l -> tensor<128xi64, #line>": (
        "mode addf of f32 updates at most 4 elements at once, but got vector 8"
    ),
    "%h = arith.constant dense<0.0> : tensor<128xf16, #line>\n"
    "%r = tile_gpu.compare_and_swap_global %h, %h -> %at order relaxed scope sys"
    " : tensor<128xf16, #line> -> tensor<128xi64, #line>": "expected elements of i32, i64, f32, f64, but got f16",
    SCATTER.format("64, 1", ", %n", ""): "expected one coordinate, the first column of the rows, but got 2",
    SCATTER.format("64, 4", "", ""): "expected a map of a matrix with a box of one row, but got box [64, 4]",
    SCATTER.format("64, 1", "", " reduction add"): "no end of rows and no reduction with indices of rows",
    GATHER.format("64, 4", "128xi32", "128xi32"): "expected a map of a matrix with a box of one row, but got box [",
    GATHER.format("48, 1", "128xi32", "128xi32").replace(
        "128B", "none"
    ): "expected a buffer of whole boxes [48, 1] and 4 rows each, but got",
    GATHER.format("64, 1", "64xi32", "64xi32"): "expected a buffer of 128 indices of i32, but got buffer<64xi32",
    GATHER.format("64, 1", "128xf32", "128xf32"): "expected a buffer of 128 indices of i32, but got buffer<128xf32",
    f"{ROWS} indices %r along 1 vector 1 : !t": "expected 64 indices along dimension 1, but got [128]",
    f"{ROWS} indices %r along 2 vector 1 : !t": "expected a sparse dimension below 2, but got 2",
    f"{ROWS} indices %r along 0 vector 4 along 0 : !t": "elements along sparse dimension 0 are not consecutive",
    f"{ROWS} indices %at along 0 vector 1 : !t": "expected indices of i32, as the extents, but got i64",
    "%r = tile_gpu.multimem_load_view min %p[%n] extents [%n] strides [%n] vector 1 : !l": "min reduces elements of",
    "tile_gpu.multimem_store_view %y -> %p[%n] extents [%n] strides [%n] vector 8 along 0 : !l": (
        "elements of f32 are accessed 1 to 4 at once, but got vector 8"
    ),
    "%h = arith.constant dense<0.0> : tensor<128xf16, #line>\n"
    "tile_gpu.multimem_reduce_view add %h -> %p[%n] extents [%n]"
    " strides [%n] vector 1 order relaxed scope sys : tensor<128xf16, #line>": (
        "elements of f16 are accessed 2 to 8 at once, but got vector 1"
    ),
    "%h = arith.constant dense<0.0> : tensor<128xf16, #line>\n"
    "tile_gpu.multimem_reduce_view max %h -> %p[%n] extents [%n]"
    " strides [%n] vector 2 along 0 order relaxed scope sys : tensor<128xf16, #line>": (
        "elements of f16 in memory can only be added to, but got max"
    ),
    "%r = tile_gpu.load_global %at vector 4 order relaxed scope device : tensor<128xi64, #line> -> !l": (
        "an access with order relaxed takes one element at a time, but got vector 4"
    ),
    "%r = tile_gpu.load_global %at vector 1 order relaxed scope device repeatable : tensor<128xi64, #line> -> !l": (
        "a repeatable load is weak, but got order relaxed"
    ),
    "tile_gpu.tcgen05_mma f16 %slot#0, %slot#1 into %d accumulate %yes {first = 0 : i32} : !a, !b -> !d": (
        "expected first and depth, or none of them"
    ),
    "%q = tile_gpu.shared shares %w : !s\n%r = tile_gpu.shared shares %q : !s": (
        "a buffer must share memory that another tile_gpu.shared has of its own"
    ),
    "%m = tile_gpu.make_channel stages 1 producer tma consumers [threads, mma] reuse ring continues : !c": (
        "a channel that continues a ring must share its slots"
    ),
    "%m = tile_gpu.make_channel stages 1 producer tma consumers [threads, mma] reuse ring shares %c : !c\n"
    "%o = tile_gpu.make_channel stages 1 producer tma consumers [threads, mma] reuse ring shares %m continues : !c": (
        "a channel must continue the first channel of its ring, but got one that shares the slots of another"
    ),
    "%m = tile_gpu.make_channel stages 2 producer tma consumers [threads, mma] reuse once shares %c continues : !c": (
        "a channel that continues a ring must have reuse ring, but got once"
    ),
    "%m = tile_gpu.make_channel stages 3 producer tma consumers [threads, mma] reuse ring shares %c continues : !c": (
        "stages must be that of the ring, 2 : i32, but got 3 : i32"
    ),
    "%m = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring wanted 0 : !c": (
        "wanted must be positive, but got 0"
    ),
    "%r:2 = tile_gpu.slot %c : !c": "expected a channel of one slot, but it has 2",
    'tile_gpu.assert %n, "positive" : i32': "expected a condition of i1, but got i32",
    'tile_gpu.print "%d of %d", %n : i32': "expected 2 operands for the directives of the format, but got 1",
    "%r = tile_gpu.allocate bytes -1 alignment 16": "expected a number of bytes, but got -1",
    "%r = tile_gpu.allocate bytes 64 alignment 24": "expected a power of two as alignment, but got 24",
    "%r = tile_gpu.wgmma f16 promote %slot#0, %slot#1, %x : !a, !b -> !t": (
        "expected promote with operands of 8-bit floats and an accumulator of f32, but got f16, f32"
    ),
    "%r = tile_gpu.wgmma f16 %slot#0, %slot#1, %x times [%x] : !a, !b -> !t": (
        "expected promote and an accumulator of f32 for factors, but got none and f32"
    ),
    "%r = tile_gpu.place %x : !t -> !a": "expected one shape and element, but got tensor<128x64xf32",
    "%r = tile_gpu.read %slot#0 : !a -> !t": "expected one shape and element, but got tensor<128x64xf32",
    f"{PRODUCT}%r = tile_gpu.place %x over %m : !d : !t -> !s": (
        "a tile over an accumulator is in tensor memory and has its rows, but got buffer<128x64xf32, shared"
    ),
    "%r = tile_gpu.place %x over %d : !d : !t -> !d": "a tile is over the result of a multiply",
    f"{PRODUCT}%o = arith.constant 1 : i32\nscf.for %i = %o to %n step %o : i32 {{\n"
    "%r = tile_gpu.place %x over %m : !d : !t -> !d\n}": (
        "a tile is over the result of a multiply of the same iteration"
    ),
    f"{PRODUCT}%r = tile_gpu.place %x over %m : !d : !t -> !d\n%s = tile_gpu.read %m : !d -> !t": (
        "a tile over an accumulator is its last use, but 'tile_gpu.read' uses it too"
    ),
    "%r = tile_gpu.shared : buffer<128xi3, shared, contiguous=0 swizzle=none>": (
        "result #0 has an invalid type: elements must be of i1, i4, i8, i16, i32, i64, f16, bf16, f32, tf32, f64, f8E4M"
    ),
    "%o = arith.constant dense<1> : tensor<128xi3, #line>\n"
    "%r = tile_gpu.pack %o dimension 0 : tensor<128xi3, #line> -> tensor<128xi8, #line>": (
        "'tile_gpu.pack' op elements must be of i1, i4, i8, i16, i32,"
    ),
    "%r = tile_gpu.wgmma_wait %n pending 0 : i32": (
        "operand #0 must be a register tile (a tensor with a layout), but got 'i32'"
    ),
    "%r = tile_gpu.load_tile %map[%n, %n] : !d": (
        "result #0 must be a buffer in shared memory, but got 'buffer<128x64xf32, tensor, lanes=128>'"
    ),
    "%r = tile_gpu.wgmma f16 %n, %slot#1, %x : i32, !b -> !t": (
        "operand #1 must be a buffer in shared memory or a register tile, but got 'i32'"
    ),
    "%r = tile_gpu.undefined : !a": (
        "result #0 must be a buffer in tensor memory, but got 'buffer<128x64xf16, shared, contiguous=1 swizzle=128B>'"
    ),
}


@pytest.mark.parametrize("line", REFUSALS)
def test_invalid_operation_is_rejected(line: str) -> None:
    with pytest.raises(VerificationError) as caught:
        read_stage_module(f"{HEAD}{line}\n}}", "<k>")
    assert REFUSALS[line] in caught.value.message


# The names of the declarations that LINES use as operands of these sets, with their types.
DECLARED = {
    "Channel": {"%c": "!c", "%e": "channel<[!d]>", "%claims": f"channel<[{RESPONSE}]>"},
    "TensorMap": {"%map": "tensor_map", "%m": "tensor_map"},
}


def _operations_on(kind: str) -> list[str]:
    """The operations with an operand that is declared."""
    return [
        name.removeprefix("tile_gpu.")
        for name, operation in OPERATIONS.items()
        if name.startswith("tile_gpu.") and any(field.set.name == kind for field in operation.operand_fields)
    ]


@pytest.mark.parametrize(
    ("kind", "operation"), [(kind, operation) for kind in DECLARED for operation in _operations_on(kind)]
)
def test_a_declaration_that_a_loop_carries_is_rejected(kind: str, operation: str) -> None:
    """The stages of a channel, and the box of a map, are those of the operation that makes it."""
    *before, line = LINES[operation].splitlines()
    (name,) = (name for name in DECLARED[kind] if re.search(rf"{name}\b", line))
    type = DECLARED[kind][name]
    lines = (
        f"{HEAD}%zero = arith.constant 0 : i32",
        *before,
        f"%last = scf.for %i = %zero to %n step %n iter_args(%carried = {name}) -> ({type}) : i32 {{",
        re.sub(rf"{name}\b", "%carried", line),
        f"scf.yield %carried : {type}\n}}\n}}",
    )
    with pytest.raises(VerificationError) as caught:
        read_stage_module("\n".join(lines), "<k>")
    assert "the result of tile_gpu.make_" in caught.value.message
