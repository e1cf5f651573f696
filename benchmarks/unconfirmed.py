"""Whether the GPU does what kernels with the hint allow_unconfirmed expect: "confirmed" or "not confirmed" for each.

    python benchmarks/unconfirmed.py               on a machine with an H100, H200, B200 or GB200
    python benchmarks/unconfirmed.py --simulate    in the simulator, for both targets

A kernel for each behavior that PTX ISA does not state, or states in two ways, computes small integers, which are
compared with numpy bit for bit. A kernel also relies on the behaviors before it, so that the first difference counts.
benchmarks/hopper/descriptor_rows.py has the start of matrix descriptors row by row.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from h200_launches import DeviceArray

import tilec as ct

PIXELS, WIDTH, CHANNELS, FILTERS, TAPS = 128, 9, 64, 32, 3
# Pixels of a row of images in place in a run: those of an instruction of wgmma, and a group of a descriptor.
ROWS_IN_PLACE, GROUPS_IN_PLACE = 64, 8


@ct.kernel
def taps(X, F, Y, products: ct.Constant[int], mode: ct.Constant[str]):
    """Three taps along W; each of `products` multiplies of a tap has 32 filters."""
    images = ct.im2col_view(X, window=3, padding=1, tile=(PIXELS, CHANNELS), mode=mode)
    result = ct.im2col_view(Y, window=1, tile=(PIXELS, FILTERS), mode=mode)
    first, second = ct.zeros((PIXELS, FILTERS), ct.float32), ct.zeros((PIXELS, FILTERS), ct.float32)
    for s in range(TAPS):
        pixels = ct.load(images, (ct.bid(0), 0), offset=s)
        first = ct.mma(pixels, ct.load(F, (s, 0, 0), (1, CHANNELS, FILTERS)).reshape((CHANNELS, FILTERS)), first)
        if products > 1:
            w = ct.load(F, (s, 0, 1), (1, CHANNELS, FILTERS)).reshape((CHANNELS, FILTERS))
            second = ct.mma(pixels, w, second)
    ct.store(result, (ct.bid(0), 0), first)
    if products > 1:
        ct.store(result, (ct.bid(0), 1), second)


@ct.kernel
def rows_outside(A, B, C):
    """C = A @ B, where A has fewer rows than the tile: the products of the others are NaN."""
    a = ct.load(A, (0, 0), (PIXELS, CHANNELS), padding_mode=ct.PaddingMode.NAN)
    ct.store(C, (0, 0), ct.mma(a, ct.load(B, (0, 0), (CHANNELS, FILTERS)), ct.zeros((PIXELS, FILTERS), ct.float32)))


@dataclass(frozen=True)
class Behavior:
    """A behavior with the instructions that a kernel must have, and the targets that have them."""

    text: str
    instructions: tuple[str, ...]
    targets: tuple[str, ...]
    products: int = 0
    mode: str | None = None
    width: int = WIDTH


BEHAVIORS = (
    Behavior("TMA fills rows outside of a tensor with NaN", ("cp.async.bulk.tensor",), ("sm_90a", "sm_100a")),
    Behavior(
        "im2col::w::128 stores the pixels after each 32 as tcgen05.cp.4x256b reads them",
        ("im2col::w::128", "tcgen05.shift"),
        ("sm_100a",),
        2,
        "stationary",
    ),
    Behavior(
        "the rows that .ashift moves precede those that tcgen05.cp.4x256b brings after a tcgen05.shift",
        (".ashift", "tcgen05.shift"),
        ("sm_100a",),
        1,
        "stationary",
    ),
    Behavior(
        "zero-column masks of tcgen05.mma.ws are those of the examples of PTX ISA 9.7.16.4.3, also with collectors",
        ("tcgen05.mma.ws", "collector::b0::use"),
        ("sm_100a",),
        1,
        "weights",
    ),
    Behavior(
        "a matrix descriptor starts at any row of its swizzle pattern, base offset 0",
        (".im2col.mbarrier",),
        ("sm_90a", "sm_100a"),
        1,
        "run",
        ROWS_IN_PLACE,
    ),
    Behavior(
        "groups of eight rows of a matrix descriptor are ten rows apart",
        (".im2col.mbarrier",),
        ("sm_90a", "sm_100a"),
        1,
        "run",
        GROUPS_IN_PLACE,
    ),
)


def is_confirmed(behavior: Behavior, target: str, *, simulate: bool) -> bool:
    """Whether the kernel of a behavior gives the exact result."""
    if behavior.mode is None:
        kernel: Any = rows_outside
        signature, arrays, exact = _product()
        constants: tuple[Any, ...] = ()
    else:
        # Products with padding are left out by the hint alone.
        mode = None if behavior.mode == "run" else behavior.mode
        kernel, constants = taps, (behavior.products, mode)
        signature, arrays, exact = _convolution(*constants, behavior.width)
    hints = {"allow_unconfirmed": True, **({"convolution": "run"} if behavior.mode == "run" else {})}
    compiled = ct.compile(kernel, target=target, signature=signature, hints=hints)
    missing = [text for text in behavior.instructions if text not in compiled.ptx]
    assert not missing, missing
    grid = (-(-len(exact) // PIXELS),)
    if simulate:
        ct.run(compiled, grid, (*arrays, *constants), backend="simulate")
        found = arrays[-1]
    else:
        copies = [DeviceArray(array) for array in arrays]
        ct.run(compiled, grid, (*copies, *constants), backend="launch")
        found = copies[-1].content()
    return np.array_equal(found.reshape(exact.shape), exact, equal_nan=True)


def _product() -> tuple[str, list[np.ndarray], np.ndarray]:
    random = np.random.default_rng(1)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((100, CHANNELS), (CHANNELS, FILTERS)))
    exact = np.full((PIXELS, FILTERS), np.nan, np.float32)
    exact[:100] = a.astype(np.float32) @ b.astype(np.float32)
    return "A: f16[?,?], B: f16[?,?], C: f32[?,?]", [a, b, np.zeros_like(exact)], exact


def _convolution(products: int, mode: str | None, width: int) -> tuple[str, list[np.ndarray], np.ndarray]:
    random, filters = np.random.default_rng(2), products * FILTERS
    x = random.integers(-3, 4, (40, width, CHANNELS)).astype(np.float16)
    f = random.integers(-3, 4, (TAPS, CHANNELS, filters)).astype(np.float16)
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0))).astype(np.float32)
    exact = sum(padded[:, s : s + width] @ f[s].astype(np.float32) for s in range(TAPS))
    arrays = f"X: f16[40,{width},{CHANNELS}], F: f16[{TAPS},{CHANNELS},{filters}], Y: f32[40,{width},{filters}]"
    result = np.zeros(exact.shape, np.float32)
    return f"{arrays}, products={products}, mode={mode!r}", [x, f, result], exact.reshape(-1, filters)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulate", action="store_true", help="run in the simulator, for both targets")
    options = parser.parse_args()
    targets = ("sm_90a", "sm_100a")
    if not options.simulate:
        from tilec.runtime.devices.devices import device_for

        targets = tuple(target for target in targets if _has_device(device_for, target))
        if not targets:
            print("no GPU of sm_90a or sm_100a: nothing is confirmed")
    wrong = False
    for target in targets:
        for behavior in BEHAVIORS:
            if target in behavior.targets:
                is_right = is_confirmed(behavior, target, simulate=options.simulate)
                wrong |= not is_right
                word = "simulated" if options.simulate else "confirmed"
                print(f"{target}: {word if is_right else f'not {word}'}: {behavior.text}", flush=True)
    return int(wrong or not targets)


def _has_device(device_for: Any, target: str) -> bool:
    from tilec.errors import LaunchError

    try:
        device_for(target)
    except LaunchError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
