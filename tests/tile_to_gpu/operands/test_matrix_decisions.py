"""The planned matrix unit, operand paths and number of warps of each multiply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import tilec
import tilec as ct
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.registers import registers_per_thread
from tilec.dialect.walk import operations_below
from tilec.errors import UnsupportedError, UsageError
from tilec.lowering.gpu.passes import columns_needed
from tilec.lowering.matrix_unit import UNITS
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan, matrix_plan
from tilec.lowering.plan.warp_choice import registers_available
from tilec.lowering.target import TARGETS, target_named
from tilec.lowering.tile_to_gpu.access.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.kernel import convert
from tilec.lowering.tile_to_gpu.ops import mma
from tilec.runtime.cubin.cubin import assemble

MATMUL = "A: f16[?,?], B: f16[?,?], C: f32[?,?], tm={}, tn={}, tk={}"


@ct.kernel
def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        acc = ct.mma(ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(C, (0, 0), acc)


@ct.kernel
def two_operand_paths(A, B, C):
    """A goes through registers, because it is computed; B is loaded by TMA."""
    a, b = ct.load(A, (0, 0), (128, 64)) * 2.0, ct.load(B, (0, 0), (64, 128))
    ct.store(C, (0, 0), ct.mma(a, b, ct.zeros((128, 128), ct.float32)))


@ct.kernel
def product_of_product(A, B, C, element: ct.Constant):
    """The left operand of the second multiply is the product of the first, converted."""
    a, b = ct.load(A, (0, 0), (64, 64)), ct.load(B, (0, 0), (64, 64))
    product = ct.mma(a, b, ct.zeros((64, 64), ct.float32))
    ct.store(C, (0, 0), ct.mma(ct.astype(product * 2.0, element), b, ct.zeros((64, 64), ct.float32)))


@ct.kernel
def attention(Q, K, V, O, tm: ct.Constant[int], tn: ct.Constant[int], width: ct.Constant[int]):  # noqa: E741
    """Two multiplies in a loop, whose sums are in use together."""
    acc = ct.zeros((tm, width), ct.float32)
    for j in range(ct.num_tiles(K, 0, (tn, width))):
        scores = ct.mma(
            ct.load(Q, (0, 0), (tm, width)),
            ct.transpose(ct.load(K, (j, 0), (tn, width))),
            ct.zeros((tm, tn), ct.float32),
        )
        acc = ct.mma(ct.astype(ct.exp(scores), Q.dtype), ct.load(V, (j, 0), (tn, width)), acc)
    ct.store(O, (0, 0), acc)


@contextmanager
def planned(kernel: Any, signature: str, target: str, warps: int = 4, **unconfirmed: bool) -> Iterator[MatrixPlan]:
    """The plan of a kernel for a target; `unconfirmed` are properties of it that allow_unconfirmed sets."""
    module = ct.compile(kernel, target=target, signature=signature, stop="tile-opt").stages[-1].value
    with module.context, ir.Location.unknown():
        (entry,) = [op for op in module.body.operations if op.operation.name == "cuda_tile.entry"]
        order = MemoryOrder(list(operations_below(entry)))
        yield matrix_plan(entry, replace(target_named(target), **unconfirmed), warps, order)


def decisions(kernel: Any, signature: str, target: str, warps: int = 4, **unconfirmed: bool) -> list[str]:
    with planned(kernel, signature, target, warps, **unconfirmed) as plan:
        return [str(multiply) for multiply in plan.multiplies.values()]


BATCH = """
entry @k() {
  %x = constant <f16: 1.0> : tile<2x64x64xf16>
  %z = constant <f32: 0.0> : tile<2x64x64xf32>
  %m = mmaf %x, %x, %z : tile<2x64x64xf16>, tile<2x64x64xf16>, tile<2x64x64xf32>
  return
}
"""


@pytest.mark.parametrize(("shape", "registers"), [((8, 8), 1), ((16, 16), 2), ((16, 32), 4), ((64, 64), 32)])
def test_threads_do_not_repeat_elements_of_a_small_accumulator(shape, registers):
    """Four warps: a thread has four consecutive elements, or fewer if there are not enough for all threads."""
    layout = UNITS["fma"].accumulator_layout(shape, 4, "f32")
    assert layout.register_count == registers


def test_a_batch_that_no_pass_has_divided_is_an_error():
    module = tilec.Module.parse(BATCH).ir
    with module.context, pytest.raises(UnsupportedError, match="run the pass unbatch-multiplies") as raised:
        convert(module, target="sm_100a", count_columns=columns_needed)
    assert raised.value.location is not None and raised.value.location.line == 5


def test_decision_is_printed():
    signature = "A: f16[128,64], B: f16[64,128], C: f32[128,128]"
    assert decisions(two_operand_paths, signature, "sm_100a") == [
        "tcgen05\n"
        "  lhs contiguous=1 by registers, since the operand is computed by 'cuda_tile.mulf'\n"
        "  rhs contiguous=1 by TMA, swizzle 128B"
    ]


@ct.kernel
def taps(X, F, Y, mode: ct.Constant[str]):
    """The three taps of a window along W."""
    images = ct.im2col_view(X, window=3, padding=1, tile=(128, 64), mode=mode)
    total = ct.zeros((128, 64), ct.float32)
    for s in ct.static_iter(range(3)):
        f = ct.load(F, (s, 0, 0), (1, 64, 64)).reshape((64, 64))
        total = ct.mma(ct.load(images, (0, 0), offset=(s,)), f, total)
    ct.store(ct.im2col_view(Y, window=1, tile=(128, 64)), (0, 0), total)


@pytest.mark.parametrize(
    ("mode", "paths"),
    [
        # 128 pixels cross 15 ends of rows with two pixels of padding each, and the last tap is two pixels further.
        ("run", ["contiguous=1 from a run of 160 pixels"] * 3),
        ("stationary", [f"in tensor memory, from a run that has moved by {moves}" for moves in range(3)]),
        ("weights", [f"rows of a run from {first} on" for first in range(3)]),
    ],
)
def test_operand_from_a_run_of_pixels(mode, paths):
    signature = f"X: f16[14,9,64], F: f16[3,64,64], Y: f32[14,9,64], mode={mode!r}"
    found = decisions(taps, signature, "sm_100a", loads_halos=True, clears_columns=True)
    assert [decision.splitlines()[1] for decision in found] == [f"  lhs {path}" for path in paths]


def test_wgmma_needs_contiguous_k_for_tf32():
    signature = "A: f32[128,128], B: f32[128,128], C: f32[128,128]"
    (on_hopper,), (on_blackwell,) = (decisions(_two_tf32, signature, target) for target in ("sm_90a", "sm_100a"))
    assert "rhs contiguous=0 by registers, since wgmma reads tf32 only where K is contiguous in memory" in on_hopper
    assert "rhs contiguous=1 by TMA, swizzle 128B_atom_32B" in on_blackwell


@ct.kernel
def _two_tf32(A, B, C):
    a, b = ct.load(A, (0, 0), (128, 128)).astype(ct.tfloat32), ct.load(B, (0, 0), (128, 128)).astype(ct.tfloat32)
    ct.store(C, (0, 0), ct.mma(a, b, ct.zeros((128, 128), ct.float32)))


NAN = ct.PaddingMode.NAN


@ct.kernel
def gathered_rows(A, I, B, C, tm: ct.Constant[int], tk: ct.Constant[int], start: ct.Constant[int]):  # noqa: E741
    rows = ct.load(I, (0,), (tm,))
    a = ct.load_advanced_indexing(A, (rows, ct.Slice(start, tk)))
    ct.store(C, (0, 0), ct.mma(a, ct.load(B, (0, 0), (tk, 64)), ct.zeros((tm, 64), ct.float32)))


@ct.kernel
def gathered_columns(A, I, B, C, tm: ct.Constant[int], tk: ct.Constant[int], start: ct.Constant[int]):  # noqa: E741
    columns = ct.load(I, (0,), (tk,))
    a = ct.load_advanced_indexing(A, (ct.Slice(start, tm), columns))
    ct.store(C, (0, 0), ct.mma(a, ct.load(B, (0, 0), (tk, 64)), ct.zeros((tm, 64), ct.float32)))


@ct.kernel
def padded_rows(A, I, B, C, tm: ct.Constant[int], tk: ct.Constant[int], start: ct.Constant[int]):  # noqa: E741
    rows = ct.load(I, (0,), (tm,))
    a = ct.load_advanced_indexing(A, (rows, ct.Slice(start, tk)), padding_mode=NAN)
    ct.store(C, (0, 0), ct.mma(a, ct.load(B, (0, 0), (tk, 64)), ct.zeros((tm, 64), ct.float32)))


GATHERED = "A: f16[1024,256], I: i32[1024], B: f16[256,64], C: f32[128,64], tm={}, tk={}, start={}"


@pytest.mark.parametrize(
    ("kernel", "sizes", "target", "path"),
    [
        (gathered_rows, (128, 64, 64), "sm_100a", "TMA, swizzle 128B"),
        (gathered_rows, (128, 16, 8), "sm_100a", "TMA, swizzle 32B"),
        (gathered_rows, (128, 64, 64), "sm_90a", "registers, since TMA of sm_90a does not gather rows"),
        (gathered_rows, (128, 64, 4), "sm_100a", "first column of the rows is not known to be a multiple of 16 bytes"),
        (gathered_rows, (2, 64, 0), "sm_100a", "registers, since TMA gathers 4 rows at once, the tile has 2"),
        (gathered_rows, (128, 8, 0), "sm_100a", "4 gathered rows have 64 bytes, TMA writes multiples of 128"),
        (gathered_columns, (128, 64, 0), "sm_100a", "TMA gathers rows of a matrix, not along dimension 1 of rank 2"),
        (
            padded_rows,
            (128, 64, 0),
            "sm_100a",
            "registers, since TMA fills elements outside of the array with zeros, not with nan",
        ),
    ],
)
def test_gathered_operand(kernel, sizes, target, path):
    (decision,) = decisions(kernel, GATHERED.format(*sizes), target)
    assert path in decision.splitlines()[1]


@ct.kernel
def _gathered_depth(A, I, B, C):  # noqa: E741
    b = ct.load_advanced_indexing(B, (ct.load(I, (0,), (32,)), ct.Slice(0, 64))).astype(ct.tfloat32)
    a = ct.load(A, (0, 0), (128, 32)).astype(ct.tfloat32)
    ct.store(C, (0, 0), ct.mma(a, b, ct.zeros((128, 64), ct.float32)))


def test_rows_are_not_gathered_in_a_swizzle_of_32_byte_atoms():
    signature = "A: f32[128,32], I: i32[32], B: f32[256,64], C: f32[128,64]"
    (decision,) = decisions(_gathered_depth, signature, "sm_100a")
    assert "needs tf32 in swizzle 128B_atom_32B, in which TMA does not gather rows" in decision


@pytest.mark.parametrize(
    ("tile", "warps", "target", "reason"),
    [
        ((32, 32, 32), 4, "sm_100a", "tcgen05 needs 64 or a multiple of 128 rows, the accumulator has 32"),
        ((128, 8, 32), 4, "sm_100a", "tcgen05 needs 16 to 256 columns, the accumulator has 8"),
        ((64, 8, 32), 8, "sm_100a", "tcgen05 needs 16 to 256 columns, the accumulator has 8"),
        ((128, 64, 8), 4, "sm_100a", "tcgen05 reads 32 bytes along K, the operands have 8 elements of f16"),
        ((32, 32, 32), 4, "sm_90a", "wgmma needs a multiple of 64 rows, the accumulator has 32"),
        ((64, 64, 32), 8, "sm_90a", "wgmma by 8 warps needs 128 to 512 columns, the accumulator has 64x64"),
        ((64, 4, 32), 4, "sm_90a", "wgmma by 4 warps needs 8 to 256 columns, the accumulator has 64x4"),
    ],
)
def test_fallback_has_its_reason(tile, warps, target, reason):
    (decision,) = decisions(matmul, MATMUL.format(*tile), target, warps)
    assert decision.startswith(f"mma.sync; {reason}\n")


def test_every_unit_is_complete():
    used = {
        name
        for target in TARGETS.values()
        for names in (target.scaled_matrix_units, target.sparse_matrix_units, target.weight_stationary_units)
        for name in (*target.matrix_units, *names)
    }
    assert used == set(UNITS) == set(mma._ISSUE)


@pytest.mark.parametrize(
    ("element", "path"),
    [
        ("f16", "in registers"),
        ("bf16", "in registers"),
        # The threads that compute an element of 8 bits are not those that multiply it.
        ("f8E4M3FN", "contiguous=1 by registers, since the operand is computed by 'cuda_tile.ftof'"),
    ],
)
def test_computed_lhs_of_wgmma_stays_in_the_registers_of_its_threads(element, path):
    names = {"f16": "float16", "bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn"}
    signature = f"A: {element}[?,?], B: {element}[?,?], C: f32[?,?], element={names[element]}"
    first, second = decisions(product_of_product, signature, "sm_90a")
    assert "by TMA" in first.splitlines()[1]
    assert second.splitlines()[1].startswith(f"  lhs {path}")


def test_computed_lhs_of_tcgen05_goes_to_shared_memory():
    signature = "A: f16[?,?], B: f16[?,?], C: f32[?,?], element=float16"
    _, second = decisions(product_of_product, signature, "sm_100a")
    assert "by registers, since the operand is computed" in second


@pytest.mark.parametrize(("tile", "warps"), [((64, 128, 128), 4), ((128, 128, 64), 8), ((128, 128, 128), 8)])
def test_sums_that_are_in_use_together_have_their_registers(tile, warps):
    """128x128 scores and 128x128 sums need 256 registers of each thread of four warps (ptxas 13.5 spills 768 bytes)."""
    signature = "Q: f16[?,?], K: f16[?,?], V: f16[?,?], O: f32[?,?], tm={}, tn={}, width={}".format(*tile)
    compiled = tilec.compile(attention, target="sm_90a", signature=signature, stop="gpu-raw")
    assert f" warps {warps} " in compiled.stage("gpu-raw").text


# Registers per thread that ptxas 13.5 allows for this number of warps, from its messages C7602.
@pytest.mark.parametrize(("warps", "registers"), [(17, 96), (18, 96), (16, 128), (9, 168), (10, 168), (8, 255)])
def test_registers_per_thread(warps, registers):
    assert registers_per_thread(warps) == registers


def test_registers_of_two_blocks():
    """Two blocks of 6 warps have as many as one of 12; a role of loads leaves most of its share to the others."""
    assert registers_available(SimpleNamespace(loads={}, multiplies={}), warps=6, blocks=2) == 168
    assert registers_available(SimpleNamespace(loads={None: None}, multiplies={}), warps=4, blocks=2) == 224


UNIT_INSTRUCTIONS = {"sm_100a": "tcgen05.mma", "sm_90a": "wgmma.mma_async"}


@pytest.mark.parametrize(
    ("tile", "warps"),
    [
        # Accumulators of 64 rows need the registers of four warps; their operands are only in shared memory.
        ((64, 256, 128), 4),
        ((64, 128, 256), 4),
        ((64, 256, 64), 4),
        # tcgen05 keeps the accumulator in tensor memory, of which slices of columns are read and stored.
        ((128, 256, 64), {"sm_100a": 4, "sm_90a": 8}),
        ((256, 128, 64), {"sm_100a": 4, "sm_90a": 8}),
        # 16 warps of wgmma would leave 96 registers; the eight compute 128 rows twice.
        ((256, 256, 64), {"sm_100a": 4, "sm_90a": 8}),
    ],
)
def test_large_tiles_use_tensor_cores(tile, warps, target):
    compiled = ct.compile(matmul, target=target, signature=MATMUL.format(*tile), stop="ptx")
    count = warps if isinstance(warps, int) else warps[target]
    assert f" warps {count} " in compiled.stage("gpu-raw").text
    assert UNIT_INSTRUCTIONS[target] in compiled.ptx
    assemble(compiled.ptx, target)


@ct.kernel
def matmul_that_prints(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """Is not divided into parts that are computed in turn, as it must print once."""
    ct.printf("start")
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        acc = ct.mma(ct.load(A, (0, k), (tm, tk)), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(C, (0, 0), acc)


def test_hint_that_leaves_too_few_registers_is_an_error():
    with pytest.raises(UsageError, match="16 warps leave 96 registers per thread, 'mma' needs 154"):
        signature = MATMUL.format(256, 256, 64)
        ct.compile(matmul_that_prints, target="sm_90a", signature=signature, hints={"warps": 16}, stop="ptx")
