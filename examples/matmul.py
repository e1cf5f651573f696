"""C = A @ B, compiled for a GPU; the simulator runs the PTX on the CPU and checks it.

    python examples/matmul.py
    python examples/matmul.py --a A.npy --b B.npy --target sm_90a
    python examples/matmul.py --dtype bf16 --backend interpret

Writes every stage of the compile, including PTX and cubin, to a folder (`out/`), and compares the result with numpy in
float64. The exit status is 0 if every element is within the tolerance that follows from the arithmetic, else 1.
"""

import argparse
import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np

import tilec as ct
from tilec.errors import TilecError
from tilec.options import from_environment
from tilec.signature import Signature

ConstInt = ct.Constant[int]


# Consecutive blocks process this many rows of tiles before the next column, so that tiles of A and B stay in the cache.
GROUP_ROWS = 8


def tile_of(block, rows, columns):
    """The row and column of the tile of C that a block of the one-dimensional grid computes."""
    group = block // (GROUP_ROWS * columns)
    position = block % (GROUP_ROWS * columns)
    top = group * GROUP_ROWS
    height = min(rows - top, GROUP_ROWS)
    return top + position % height, position // height


@ct.kernel
def matmul_kernel(
    A, B, C, tm: ConstInt, tn: ConstInt, tk: ConstInt, use_tf32: ct.Constant[bool], half_accumulator: ct.Constant[bool]
):
    """Each block computes one tm x tn tile of C, over the K dimension in steps of tk."""
    row, column = tile_of(ct.bid(0), ct.cdiv(A.shape[0], tm), ct.cdiv(B.shape[1], tn))
    operand = ct.tfloat32 if use_tf32 else A.dtype
    total = ct.zeros((tm, tn), dtype=ct.float16 if half_accumulator else ct.float32)
    for step in range(ct.cdiv(A.shape[1], tk)):
        left = ct.load(A, (row, step), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(B, (step, column), (tk, tn), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left.astype(operand), right.astype(operand), total)
    ct.store(C, (row, column), total.astype(C.dtype))


# Name -> the type of the arrays, and the maximum relative error of rounding to it (half a unit in the last place).
DTYPES = {
    "f16": (np.dtype(np.float16), 2.0**-11),
    "bf16": (np.dtype(ml_dtypes.bfloat16), 2.0**-8),
    "tf32": (np.dtype(np.float32), 2.0**-24),
    "f32": (np.dtype(np.float32), 2.0**-24),
}


def main() -> int:
    options = arguments()
    A, B = inputs(options)
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != B.shape[0] or A.dtype != B.dtype:
        expected = "matrices of the same type whose inner extents are equal"
        print(f"error: expected {expected}, got {A.dtype}{A.shape} and {B.dtype}{B.shape}")
        return 2
    (M, K), N = A.shape, B.shape[1]
    C = np.zeros((M, N), A.dtype)
    tm, tn, tk = options.tile
    grid = (ct.cdiv(M, tm) * ct.cdiv(N, tn), 1, 1)
    half_accumulator = options.accumulator == "f16"
    args = (A, B, C, tm, tn, tk, options.dtype == "tf32", half_accumulator)
    print(f"C = A @ B, {M} x {K} times {K} x {N} in {options.dtype}, tiles of {tm} x {tn} x {tk}, for {options.target}")

    signature = Signature.from_arguments(matmul_kernel, args)
    stop = "tile" if options.backend == "interpret" else None
    compiled = ct.compile(matmul_kernel, target=options.target, signature=signature, stop=stop)
    for stage in compiled.stages:
        size = f"{len(stage.text.splitlines()):6} lines" if stage.text else f"{len(stage.content()):6} bytes"
        print(f"  {stage.name:<10}{stage.seconds * 1e3:8.1f} ms  {size}")
    options.out.mkdir(parents=True, exist_ok=True)
    base = compiled.save(options.out / "matmul")
    print(f"  written to {base}.*")

    with progress(f"{options.backend}: {grid[0]} blocks"):
        ct.run(compiled, grid, args, backend=options.backend)
    return report(A, B, C, options.dtype, half_accumulator)


def report(A: np.ndarray, B: np.ndarray, C: np.ndarray, dtype: str, half_accumulator: bool) -> int:
    """Compares C with float64; returns 0 if every element is within its tolerance.

    The addition of a product to the partial sum keeps 25 fraction bits below the largest operand, and every sum is
    rounded to float32: the total error is less than 2^-24 of the sum of |a b| for each of the K terms. The result is
    rounded to the type of C. A tf32 operand keeps 10 fraction bits: its error is at most 2^-10 if the others are
    truncated. A float16 accumulator is rounded after each multiply of 16 terms, by 2^-11 of at most the sum of |a b|.
    """
    a, b = A.astype(np.float64), B.astype(np.float64)
    exact, magnitude = a @ b, np.abs(a) @ np.abs(b)
    K, rounding = A.shape[1], DTYPES[dtype][1]
    accumulated = (K * 2.0**-24 + (2 * 2.0**-10 if dtype == "tf32" else 0)) * magnitude
    if half_accumulator:
        accumulated = accumulated + ct.cdiv(K, 16) * 2.0**-11 * magnitude
    tolerance = (
        accumulated + rounding * (np.abs(exact) + accumulated) + float(ml_dtypes.finfo(C.dtype).smallest_subnormal)
    )
    error = np.abs(C.astype(np.float64) - exact)
    error[~np.isfinite(error)] = np.inf
    worst = np.unravel_index(np.argmax(error / tolerance), error.shape)
    passed = bool((error <= tolerance).all())
    print(f"largest error {error.max():.3e}; closest to its tolerance: C[{worst[0]}, {worst[1]}], ", end="")
    print(f"{error[worst]:.3e} of {tolerance[worst]:.3e}")
    operands = ", tf32 operands truncated to 10 fraction bits" if dtype == "tf32" else ""
    operands += f", {ct.cdiv(K, 16)} roundings of the accumulator to float16" if half_accumulator else ""
    print(f"tolerance: {K} fused sums at 2^-24 of sum |a b|{operands}, and one rounding of {rounding:.1e} to {C.dtype}")
    print("PASSED: every element is within its tolerance" if passed else "FAILED: an element exceeds its tolerance")
    return 0 if passed else 1


def inputs(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """The matrices of the files, or random matrices with 16-byte aligned rows; no extent is a multiple of a tile."""
    if options.a or options.b:
        if not (options.a and options.b):
            sys.exit("error: expected both --a and --b, or neither")
        A, B = read(options.a), read(options.b)
        names = [name for name, (dtype, _) in DTYPES.items() if dtype == A.dtype]
        if not names:
            sys.exit(f"error: expected matrices of float16, bfloat16 or float32, got {A.dtype}")
        if options.dtype not in names:
            options.dtype = names[0]
        return A, B
    random = np.random.default_rng(options.seed)
    dtype = DTYPES[options.dtype][0]
    return tuple(random.standard_normal(shape, np.float32).astype(dtype) for shape in ((1000, 776), (776, 520)))


def read(path: Path) -> np.ndarray:
    try:
        array = np.load(path)
    except (OSError, ValueError) as problem:
        sys.exit(f"error: cannot read {path}: {problem}")
    # numpy stores bfloat16 as two bytes without its type.
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array


@contextlib.contextmanager
def progress(task: str) -> Iterator[None]:
    """Prints the elapsed seconds of a task."""
    start, done = time.perf_counter(), threading.Event()

    def tick() -> None:
        while not done.wait(1.0):
            print(f"\r{task}, {time.perf_counter() - start:.0f} s", end="", flush=True)

    ticker = threading.Thread(target=tick, daemon=True)
    if sys.stdout.isatty():
        ticker.start()
    try:
        yield
    finally:
        done.set()
    print(f"\r{task}, {time.perf_counter() - start:.1f} s")


def tile(text: str) -> tuple[int, ...]:
    extents = tuple(map(int, text.split(",")))
    if len(extents) != 3:
        raise argparse.ArgumentTypeError("expected M,N,K")
    return extents


def arguments() -> argparse.Namespace:
    environment = from_environment()
    parser = argparse.ArgumentParser(description="Multiply two matrices with a kernel compiled by tilec.")
    parser.add_argument("--a", type=Path, help="the left matrix, a .npy file")
    parser.add_argument("--b", type=Path, help="the right matrix, a .npy file")
    parser.add_argument(
        "--dtype", choices=DTYPES, default="f16", help="type of random matrices; for float32 files tf32 or f32"
    )
    parser.add_argument("--accumulator", choices=("f32", "f16"), default="f32", help="f16 requires f16 matrices")
    parser.add_argument("--target", default=environment.target, help="sm_100a or sm_90a")
    parser.add_argument(
        "--backend", choices=("interpret", "simulate", "launch"), default=environment.backend or "simulate"
    )
    parser.add_argument("--tile", type=tile, default=(128, 128, 64), metavar="M,N,K", help="the tile of a block")
    parser.add_argument("--seed", type=int, default=0, help="seed of random matrices")
    parser.add_argument("-o", "--out", type=Path, default=Path("out"), help="the folder for PTX, cubin and stages")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TilecError as problem:
        print(problem, file=sys.stderr)
        sys.exit(problem.exit_status)
