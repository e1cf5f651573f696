"""Further tiles of the kernels of the sheet, which only the timing on a GPU compares."""

from __future__ import annotations

from sheet.cases import Case, attention, gemm, matrices


def _by_rows(dtype: str, tile: tuple[int, int, int], *, fast: bool) -> Case:
    name = f"gemm {dtype} by rows {'x'.join(map(str, tile))}{' fast' if fast else ''}"
    return Case(name, "hopper.more_kernels", "matmul_of_rows", (*matrices(dtype), *tile, fast))


MORE_CASES: tuple[Case, ...] = (
    gemm("gemm", "matmul", (256, 128, 64), triton="matmul"),
    gemm("gemm", "matmul", (128, 128, 128)),
    gemm("gemm", "matmul", (64, 256, 64)),
    gemm("gemm", "matmul", (64, 128, 64)),
    gemm("gemm persistent", "persistent_matmul", (256, 128, 64)),
    gemm("gemm persistent 2 CTAs", "persistent_matmul_of_pairs", (128, 256, 64)),
    gemm("gemm persistent 2 CTAs", "persistent_matmul_of_pairs", (256, 128, 64)),
    _by_rows("float16", (128, 256, 64), fast=False),
    *(
        _by_rows("float8_e4m3fn", tile, fast=fast)
        for tile in ((128, 128, 128), (128, 256, 128), (256, 128, 128))
        for fast in (False, True)
    ),
    *(
        attention(rows, keys, width, causal=False)
        for rows, keys, width in ((128, 64, 128), (64, 128, 128), (256, 64, 128), (256, 128, 64), (128, 64, 256))
    ),
)
