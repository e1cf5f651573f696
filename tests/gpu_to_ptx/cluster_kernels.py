"""Matrix multiplies by clusters of two CTAs, as text of tile_gpu: a tile of 256 rows of which each CTA has half."""

from __future__ import annotations

from tilec.lowering.layout.blocked import blocked
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.mma_sync import mma_sync_accumulator
from tilec.lowering.layout.tensor_layout import tensor_memory_32x32b
from tilec.lowering.layout.wgmma import wgmma_accumulator
from tilec.signature import parse

# Rows and columns of the tile of a cluster, and elements along K per iteration.
ROWS, COLUMNS, DEPTH = 256, 128, 64
_ROWS_OF_A_CTA, _COLUMNS_OF_A_CTA = ROWS // 2, COLUMNS // 2
_SIGNATURE = parse("A: f16[?,?], B: f16[?,?], C: f32[?,?]").to_json().replace('"', '\\"')
_ARGUMENTS = ", ".join(
    f"%{name}: i64, %{name}_extent0: i32, %{name}_extent1: i32, %{name}_stride0: i32, %{name}_stride1: i32"
    for name in "abc"
)
# Cluster (i, j) computes tile (i, j) of C: its CTA of rank r the rows from %row on.
_START = f"""
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %depth = arith.constant {DEPTH} : i32
  %rows = arith.constant {ROWS} : i32
  %columns = arith.constant {COLUMNS} : i32
  %rows_of_cta = arith.constant {_ROWS_OF_A_CTA} : i32
  %columns_of_cta = arith.constant {_COLUMNS_OF_A_CTA} : i32
  %i = tile_gpu.program_id 0
  %j = tile_gpu.program_id 1
  %rank = tile_gpu.cluster_rank
  %first_row = arith.muli %i, %rows : i32
  %rows_before = arith.muli %rank, %rows_of_cta : i32
  %row = arith.addi %first_row, %rows_before : i32
  %column = arith.muli %j, %columns : i32
  %count = arith.ceildivui %a_extent1, %depth : i32
"""
_STORE = """
  tile_gpu.store_view %tile -> %c[%row, %column] extents [%c_extent0, %c_extent1]
    strides [%c_stride0, %c_stride1] vector 1 : !tile
"""
_MAPS = f"""
  %map_a = tile_gpu.make_tensor_map "f16" %a[%a_extent1, %a_extent0] strides [%a_stride0]
    box [{DEPTH}, {_ROWS_OF_A_CTA}] swizzle 128B fill zero
  %map_b = tile_gpu.make_tensor_map "f16" %b[%b_extent1, %b_extent0] strides [%b_stride0]
    box [{_COLUMNS_OF_A_CTA}, {{}}] swizzle 128B fill zero
"""
# The operands of one multiply of a pair, and its accumulator.
_PAIR_TYPES = f"""
!a = buffer<{_ROWS_OF_A_CTA}x{DEPTH}xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<{DEPTH}x{_COLUMNS_OF_A_CTA}xf16, shared, contiguous=1 swizzle=128B>
!d = buffer<{_ROWS_OF_A_CTA}x{COLUMNS}xf32, tensor, lanes=128>
!accumulator = channel<[!d]>
!tile = tensor<{_ROWS_OF_A_CTA}x{COLUMNS}xf32, "{tensor_memory_32x32b((_ROWS_OF_A_CTA, COLUMNS), 4)}">
"""
_COLUMN_OF_B = """
  %columns_before = arith.muli %rank, %columns_of_cta : i32
  %column_of_b = arith.addi %column, %columns_before : i32
"""


def _kernel(target: str, aliases: str, body: str) -> str:
    return (
        f"{aliases}\ntile_gpu.kernel @k({_ARGUMENTS}) "
        f'target "{target}" warps 4 cluster 2 attributes {{tilec.signature = "{_SIGNATURE}"}} {{\n'
        f"{_START}{body}{_STORE}}}"
    )


def pair_kernel() -> str:
    """sm_100a: a pair multiplies 256 rows by B, of which each CTA has half of the columns."""
    aliases = f"{_PAIR_TYPES}!operands = channel<[!a, !b]>\n"
    body = f"""{_COLUMN_OF_B}{_MAPS.format(DEPTH)}
  %operands = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring across pair : !operands
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once across pair : !accumulator
  %sum = tile_gpu.put_begin %sums : !accumulator
  scf.for %k = %zero to %count step %one : i32 {{
    %position = arith.muli %k, %depth : i32
    %fill_a, %fill_b = tile_gpu.put_begin %operands : !operands
    tile_gpu.tma_load %map_a[%position, %row] -> %fill_a of %operands : !a
    tile_gpu.tma_load %map_b[%column_of_b, %position] -> %fill_b of %operands : !b
    tile_gpu.put_commit %operands : !operands
    %a_of_step, %b_of_step = tile_gpu.get %operands consumer 0 : !operands
    %adds = arith.cmpi ne, %k, %zero : i32
    tile_gpu.tcgen05_mma f16 pair %a_of_step, %b_of_step into %sum accumulate %adds : !a, !b -> !d
    tile_gpu.release %operands consumer 0 : !operands
  }}
  tile_gpu.put_commit %sums : !accumulator
  %done = tile_gpu.get %sums consumer 0 : !accumulator
  %tile = tile_gpu.load_tensor_memory %done : !d -> !tile
  tile_gpu.release %sums consumer 0 : !accumulator
"""
    return _kernel("sm_100a", aliases, body)


def pair_ring_kernel() -> str:
    """sm_100a: threads store A to shared memory, and the sums of all steps go through tensor memory one by one."""
    operand = blocked((_ROWS_OF_A_CTA, DEPTH), 4)
    aliases = f"""{_PAIR_TYPES}
!lhs = channel<[!a]>
!rhs = channel<[!b]>
!half = tensor<{_ROWS_OF_A_CTA}x{DEPTH}xf16, "{operand}">
"""
    body = f"""{_COLUMN_OF_B}{_MAPS.format(DEPTH)}
  %no = arith.constant false
  %lhs = tile_gpu.make_channel stages 1 producer threads consumers [mma] reuse ring across pair : !lhs
  %rhs = tile_gpu.make_channel stages 1 producer tma consumers [mma] reuse ring across pair : !rhs
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse ring across pair : !accumulator
  %none = arith.constant dense<0.0> : !tile
  %tile = scf.for %k = %zero to %count step %one iter_args(%before = %none) -> (!tile) : i32 {{
    %position = arith.muli %k, %depth : i32
    %part = tile_gpu.load_view %a[%row, %position] extents [%a_extent0, %a_extent1]
      strides [%a_stride0, %a_stride1] vector 1 padding "zero" : !half
    %fill_a = tile_gpu.put_begin %lhs : !lhs
    tile_gpu.store_shared %part, %fill_a : !half -> !a
    tile_gpu.put_commit %lhs : !lhs
    %fill_b = tile_gpu.put_begin %rhs : !rhs
    tile_gpu.tma_load %map_b[%column_of_b, %position] -> %fill_b of %rhs : !b
    tile_gpu.put_commit %rhs : !rhs
    %sum = tile_gpu.put_begin %sums : !accumulator
    %a_of_step = tile_gpu.get %lhs consumer 0 : !lhs
    %b_of_step = tile_gpu.get %rhs consumer 0 : !rhs
    tile_gpu.tcgen05_mma f16 pair %a_of_step, %b_of_step into %sum accumulate %no : !a, !b -> !d
    tile_gpu.release %lhs consumer 0 : !lhs
    tile_gpu.release %rhs consumer 0 : !rhs
    tile_gpu.put_commit %sums : !accumulator
    %done = tile_gpu.get %sums consumer 0 : !accumulator
    %added = tile_gpu.load_tensor_memory %done : !d -> !tile
    tile_gpu.release %sums consumer 0 : !accumulator
    %after = arith.addf %before, %added : !tile
    scf.yield %after : !tile
  }}
"""
    return _kernel("sm_100a", aliases, body)


_MULTICAST_LOADS = f"""
  %half_depth = arith.constant {DEPTH // 2} : i32
  %depth_before = arith.muli %rank, %half_depth : i32
{_MAPS.format(DEPTH // 2)}
  %operands = tile_gpu.make_channel stages 1 producer tma consumers [{{consumer}}] reuse ring across cluster : !operands
"""
_MULTICAST_STEP = """
    %position = arith.muli %k, %depth : i32
    %position_of_b = arith.addi %position, %depth_before : i32
    %fill_a, %fill_b = tile_gpu.put_begin %operands : !operands
    tile_gpu.tma_load %map_a[%position, %row] -> %fill_a of %operands : !a
    tile_gpu.tma_load %map_b[%column, %position_of_b] multicast -> %fill_b of %operands : !b
    tile_gpu.put_commit %operands : !operands
    %a_of_step, %b_of_step = tile_gpu.get %operands consumer 0 : !operands
"""


def _multicast_types(layout: LinearLayout) -> str:
    return f"""
!a = buffer<{_ROWS_OF_A_CTA}x{DEPTH}xf16, shared, contiguous=1 swizzle=128B>
!b = buffer<{DEPTH}x{COLUMNS}xf16, shared, contiguous=1 swizzle=128B>
!operands = channel<[!a, !b]>
!tile = tensor<{_ROWS_OF_A_CTA}x{COLUMNS}xf32, "{layout}">
"""


def multicast_kernel() -> str:
    """sm_90a: each CTA loads half of the rows of B for both of them, and multiplies its rows of A by all of B."""
    body = f"""{_MULTICAST_LOADS.format(consumer="wgmma")}
  %none = arith.constant dense<0.0> : !tile
  %tile = scf.for %k = %zero to %count step %one iter_args(%sum = %none) -> (!tile) : i32 {{{_MULTICAST_STEP}
    %issued = tile_gpu.wgmma f16 %a_of_step, %b_of_step, %sum : !a, !b -> !tile
    %added = tile_gpu.wgmma_wait %issued pending 0 : !tile
    tile_gpu.release %operands consumer 0 : !operands
    scf.yield %added : !tile
  }}
"""
    return _kernel("sm_90a", _multicast_types(wgmma_accumulator((_ROWS_OF_A_CTA, COLUMNS), 4)), body)


def multicast_to_multiplies_of_one_kernel() -> str:
    """sm_100a: the same with multiplies of one CTA each."""
    aliases = f"""{_multicast_types(tensor_memory_32x32b((_ROWS_OF_A_CTA, COLUMNS), 4))}
!d = buffer<{_ROWS_OF_A_CTA}x{COLUMNS}xf32, tensor, lanes=128>
!accumulator = channel<[!d]>
"""
    body = f"""{_MULTICAST_LOADS.format(consumer="mma")}
  %sums = tile_gpu.make_channel stages 1 producer mma consumers [threads] reuse once : !accumulator
  %sum = tile_gpu.put_begin %sums : !accumulator
  scf.for %k = %zero to %count step %one : i32 {{{_MULTICAST_STEP}
    %adds = arith.cmpi ne, %k, %zero : i32
    tile_gpu.tcgen05_mma f16 %a_of_step, %b_of_step into %sum accumulate %adds : !a, !b -> !d
    tile_gpu.release %operands consumer 0 : !operands
  }}
  tile_gpu.put_commit %sums : !accumulator
  %done = tile_gpu.get %sums consumer 0 : !accumulator
  %tile = tile_gpu.load_tensor_memory %done : !d -> !tile
  tile_gpu.release %sums consumer 0 : !accumulator
"""
    return _kernel("sm_100a", aliases, body)


def multicast_to_threads_kernel() -> str:
    """sm_90a: the same with multiply-adds of the threads, which read the operands themselves."""
    body = f"""{_MULTICAST_LOADS.format(consumer="threads")}
  %none = arith.constant dense<0.0> : !tile
  %tile = scf.for %k = %zero to %count step %one iter_args(%sum = %none) -> (!tile) : i32 {{{_MULTICAST_STEP}
    %added = tile_gpu.mma_sync %a_of_step, %b_of_step, %sum : !a, !b -> !tile
    tile_gpu.release %operands consumer 0 : !operands
    scf.yield %added : !tile
  }}
"""
    return _kernel("sm_90a", _multicast_types(mma_sync_accumulator((_ROWS_OF_A_CTA, COLUMNS), 4, 2)), body)


# Each kernel with its target.
KERNELS = {
    "pair": (pair_kernel, "sm_100a"),
    "pair, rings of threads": (pair_ring_kernel, "sm_100a"),
    "multicast to wgmma": (multicast_kernel, "sm_90a"),
    "multicast to tcgen05": (multicast_to_multiplies_of_one_kernel, "sm_100a"),
    "multicast to threads": (multicast_to_threads_kernel, "sm_90a"),
}
