"""The kernels that C programs launch: Python with MODES in place of the modes of im2col, and Tile IR."""

KERNELS = """
import tilec as ct

MATRICES = "A: f16[?,?], B: f16[?,?], C: f32[?,?], TM=64, TN=64, TK=64"

@ct.signatures(MATRICES)
@ct.kernel
def matmul(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total)

@ct.signatures(MATRICES.replace("TM=64", "TM=256").replace("TN=64", "TN=128"), num_ctas=2)
@ct.kernel
def clusters(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        total = ct.mma(ct.load(A, (i, k), (TM, TK)), ct.load(B, (k, j), (TK, TN)), total)
    ct.store(C, (i, j), total)

@ct.signatures("double: f32[?%4,16], a: i1, b: i8, c: u16, d: i64, e: f32, f: f64, grid: f32[]")
@ct.kernel
def scalars(double, a, b, c, d, e, f, grid):
    value = ct.astype(b, ct.float64) + ct.astype(c, ct.float64) + ct.astype(d, ct.float64) + f
    result = ct.where(a, ct.astype(value, ct.float32), e)
    ct.store(double, (ct.bid(0), 0), ct.full((4, 16), result, ct.float32))
    ct.store(grid, (), result)

@ct.signatures("arrays: list f32[?,?%8], total: f32[4,8], factor: f32")
@ct.kernel
def listed(arrays, total, factor):
    found = ct.zeros((4, 8), ct.float32)
    for index in range(len(arrays)):
        found += ct.load(arrays[index], (0, 0), (4, 8)) * factor
    ct.store(total, (0, 0), found)

LISTS = ", ".join(f"{name}: list f16[?%1,?%8]" for name in ("storage", "image", "results"))

@ct.signatures(f"{LISTS}, bias: f16[?,?], TM=64, TN=64, TK=64")
@ct.kernel
def products(storage, image, results, bias, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    for index in range(len(storage)):
        total = ct.load(bias, (ct.bid(0), 0), (TM, TN)).astype(ct.float32)
        for k in range(ct.num_tiles(storage[index], 1, (TM, TK))):
            left = ct.load(storage[index], (ct.bid(0), k), (TM, TK))
            total = ct.mma(left, ct.load(image[index], (k, 0), (TK, TN)), total)
        ct.store(results[index], (ct.bid(0), 0), total.astype(ct.float16))

@ct.signatures("x: f32[?] index i64")
@ct.kernel
def large(x):
    ct.store(x, ct.bid(0), ct.ones(128, ct.float32))

@ct.signatures(*(f"x: f16[?,?,?,?] strides (?%8,?%8,?%8,1), identity: f16[64,64], y: f32[?,?], mode='{mode}'"
                 for mode in MODES))
@ct.kernel
def windows(x, identity, y, mode: ct.Constant[str]):
    images = ct.im2col_view(x, window=(3, 3), padding=1, stride=2, tile=(128, 64), mode=mode)
    i = ct.bid(0)
    total = ct.zeros((128, 64), ct.float32)
    for r in range(3):
        for s in range(3):
            total = ct.mma(ct.load(images, (i, 0), offset=(r, s)), ct.load(identity, (0, 0), (64, 64)), total)
    ct.store(y, (i, 0), total)
"""
POINTERS = """
cuda_tile.module @m {
  entry @pointers(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %value = exti %n signed : tile<i32> -> tile<i64>
    return
  }
}
"""
