"""The code and the traffic of convolutions by im2col, beside a matrix multiply of the same M, N and K.

python benchmarks/convolution.py [FILE]

The layers are those of public networks. For each, the kernels of convolution_kernel.py are compiled for both targets
with known extents: the instructions (of PTX) of the role that loads, whether the loops that multiply are the same, the
bytes that TMA loads for the images, and the part of the time in which the tensor pipe multiplies, by the cost model.
`im2col` and `im2col::w` load each tap of the window. `run`, `stationary` and `weights` have one copy for all taps along
W; the pixels of `stationary` move in tensor memory, and the filters of `weights` are the first operand. Threads read
the taps of `run`, and multiplies those of `run in place` where they can. `chosen` is the lowering that the compiler
chooses. FILE gets the tables as Markdown; without it, they are printed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import convolution_kernel
from progress import show_progress

import tilec as ct
from tilec.explain.reports import reports_of

BATCHES = (1, 8, 32)
HALF_BYTES = 2
# Pixels, filters and channels of a tile; layers with fewer filters or channels get narrower tiles.
PIXELS, FILTERS, CHANNELS = 128, 128, 64


@dataclass(frozen=True)
class Layer:
    """A convolution of square images and windows: extent, input and output channels, taps, stride and padding."""

    network: str
    extent: int
    channels: int
    filters: int
    taps: int
    stride: int = 1
    padding: int = 0

    @property
    def output(self) -> int:
        return int(ct.im2col_output_shape(self.extent, window=self.taps, stride=self.stride, padding=self.padding)[0])

    @property
    def name(self) -> str:
        window = f"{self.taps}x{self.taps}" + (f"/{self.stride}" if self.stride > 1 else "")
        return f"{self.network} {window} {self.channels}-{self.filters} @{self.extent}"

    @property
    def tile(self) -> tuple[int, int, int]:
        return PIXELS, FILTERS if self.filters > 64 else 64, CHANNELS if self.channels > 16 else 16


# He et al. 2015, table 1, with strides in the 3 x 3 layers (the first layer has 3 channels, which are padded to 8: TMA
# needs 16 bytes); Liu et al. 2022 (ConvNeXt-T: stem, downsampling and pointwise layers; the depthwise ones multiply no
# matrices); Rombach et al. 2022 (the UNet of 860 M parameters without its shortcuts of 1 x 1, and the decoder of the
# autoencoder with f = 8; 3 or 4 channels or filters are padded to 8). Layers of the same sizes are one.
LAYERS = (
    Layer("ResNet-50", 224, 8, 64, 7, 2, 3),
    Layer("ResNet-50", 56, 64, 64, 1),
    Layer("ResNet-50", 56, 64, 64, 3, 1, 1),
    Layer("ResNet-50", 56, 64, 256, 1),
    Layer("ResNet-50", 56, 256, 64, 1),
    Layer("ResNet-50", 56, 256, 128, 1),
    Layer("ResNet-50", 56, 128, 128, 3, 2, 1),
    Layer("ResNet-50", 28, 128, 128, 3, 1, 1),
    Layer("ResNet-50", 28, 128, 512, 1),
    Layer("ResNet-50", 28, 512, 128, 1),
    Layer("ResNet-50", 56, 256, 512, 1, 2),
    Layer("ResNet-50", 28, 512, 256, 1),
    Layer("ResNet-50", 28, 256, 256, 3, 2, 1),
    Layer("ResNet-50", 14, 256, 256, 3, 1, 1),
    Layer("ResNet-50", 14, 256, 1024, 1),
    Layer("ResNet-50", 14, 1024, 256, 1),
    Layer("ResNet-50", 28, 512, 1024, 1, 2),
    Layer("ResNet-50", 14, 1024, 512, 1),
    Layer("ResNet-50", 14, 512, 512, 3, 2, 1),
    Layer("ResNet-50", 7, 512, 512, 3, 1, 1),
    Layer("ResNet-50", 7, 512, 2048, 1),
    Layer("ResNet-50", 7, 2048, 512, 1),
    Layer("ResNet-50", 14, 1024, 2048, 1, 2),
    Layer("ConvNeXt-T", 224, 8, 96, 4, 4),
    Layer("ConvNeXt-T", 56, 96, 192, 2, 2),
    Layer("ConvNeXt-T", 28, 192, 384, 2, 2),
    Layer("ConvNeXt-T", 14, 384, 768, 2, 2),
    Layer("ConvNeXt-T", 56, 96, 384, 1),
    Layer("ConvNeXt-T", 56, 384, 96, 1),
    Layer("ConvNeXt-T", 28, 192, 768, 1),
    Layer("ConvNeXt-T", 28, 768, 192, 1),
    Layer("ConvNeXt-T", 14, 384, 1536, 1),
    Layer("ConvNeXt-T", 14, 1536, 384, 1),
    Layer("ConvNeXt-T", 7, 768, 3072, 1),
    Layer("ConvNeXt-T", 7, 3072, 768, 1),
    Layer("UNet", 64, 8, 320, 3, 1, 1),
    Layer("UNet", 64, 320, 320, 3, 1, 1),
    Layer("UNet", 64, 320, 320, 3, 2, 1),
    Layer("UNet", 32, 320, 640, 3, 1, 1),
    Layer("UNet", 32, 640, 640, 3, 1, 1),
    Layer("UNet", 32, 640, 640, 3, 2, 1),
    Layer("UNet", 16, 640, 1280, 3, 1, 1),
    Layer("UNet", 16, 1280, 1280, 3, 1, 1),
    Layer("UNet", 16, 1280, 1280, 3, 2, 1),
    Layer("UNet", 8, 1280, 1280, 3, 1, 1),
    Layer("UNet", 8, 2560, 1280, 3, 1, 1),
    Layer("UNet", 16, 2560, 1280, 3, 1, 1),
    Layer("UNet", 16, 1920, 1280, 3, 1, 1),
    Layer("UNet", 32, 1280, 1280, 3, 1, 1),
    Layer("UNet", 32, 1920, 640, 3, 1, 1),
    Layer("UNet", 32, 1280, 640, 3, 1, 1),
    Layer("UNet", 32, 960, 640, 3, 1, 1),
    Layer("UNet", 64, 640, 640, 3, 1, 1),
    Layer("UNet", 64, 960, 320, 3, 1, 1),
    Layer("UNet", 64, 640, 320, 3, 1, 1),
    Layer("UNet", 64, 320, 8, 3, 1, 1),
    Layer("VAE decoder", 64, 8, 512, 3, 1, 1),
    Layer("VAE decoder", 64, 512, 512, 3, 1, 1),
    Layer("VAE decoder", 128, 512, 512, 3, 1, 1),
    Layer("VAE decoder", 256, 512, 512, 3, 1, 1),
    Layer("VAE decoder", 256, 512, 256, 3, 1, 1),
    Layer("VAE decoder", 256, 256, 256, 3, 1, 1),
    Layer("VAE decoder", 512, 256, 256, 3, 1, 1),
    Layer("VAE decoder", 512, 256, 128, 3, 1, 1),
    Layer("VAE decoder", 512, 128, 128, 3, 1, 1),
    Layer("VAE decoder", 512, 128, 8, 3, 1, 1),
)


# The lowerings whose tiles end with each row of the images.
STAY = ("stationary", "weights")
IN_PLACE = "run in place"
# Tiles of two CTAs that share the filters, for layers with at least as many filters.
PAIR_TILE, PAIR = (256, 256, CHANNELS), {"num_ctas": 2}


def compiled(
    layer: Layer,
    images: int,
    target: str,
    lowering: str | None = None,
    tile: tuple[int, int, int] | None = None,
    stop: str | None = "ptx",
) -> ct.Compiled:
    """The convolution in a lowering, None for the one that the compiler chooses; with PAIR_TILE, that of two CTAs."""
    # Tiles of images or filters that stay have the pixels of other modes.
    mode = lowering if lowering in STAY else None
    rows, columns, depth = tile or layer.tile
    x = f"x: f16[{images},{layer.extent},{layer.extent},{layer.channels}]"
    filters = f"filters: f16[{layer.taps},{layer.taps},{layer.channels},{layer.filters}]"
    y = f"y: f16[{images},{layer.output},{layer.output},{layer.filters}]"
    constants = f"stride={layer.stride}, padding={layer.padding}, tm={rows}, tn={columns}, tk={depth}, mode={mode!r}"
    signature = f"{x}, {filters}, {y}, {constants}"
    hints = {"convolution": lowering} if lowering and mode is None else {}
    if lowering == IN_PLACE:
        hints = {"convolution": "run"}
    hints |= {"allow_unconfirmed": True} if lowering in (*STAY, IN_PLACE) else {}
    hints |= PAIR if tile == PAIR_TILE else {}
    return ct.compile(convolution_kernel.convolution, target=target, signature=signature, stop=stop, hints=hints)


def multiply(layer: Layer, images: int, target: str, tile: tuple[int, int, int] | None = None) -> ct.Compiled:
    """The matrix multiply of the same M, N and K."""
    m, k = images * layer.output**2, layer.taps**2 * layer.channels
    rows, columns, depth = tile or layer.tile
    arrays = f"A: f16[{m},{k}], B: f16[{k},{layer.filters}], C: f16[{m},{layer.filters}]"
    signature = f"{arrays}, tm={rows}, tn={columns}, tk={depth}"
    hints = PAIR if tile else {}
    return ct.compile(convolution_kernel.matmul, target=target, signature=signature, stop="ptx", hints=hints)


_LABEL = re.compile(r"^\$\w+:$")


def instructions(ptx: str) -> list[str]:
    """Labels and instructions, without comments and line information; continued lines are joined."""
    body = re.sub(r"//[^\n]*", "", ptx)
    body = re.sub(r",\n\s+", ", ", body)
    lines = [line.strip() for line in body.splitlines()]
    return [line for line in lines if _LABEL.match(line) or line.endswith(";") and not line.startswith(".")]


def count(lines: list[str]) -> int:
    return sum(not _LABEL.match(line) for line in lines)


def load_role(ptx: str) -> list[str]:
    """The instructions around the loads between two ends of roles."""
    lines = instructions(ptx)
    loads = [at for at, line in enumerate(lines) if "complete_tx::bytes" in line]
    ends = [at for at, line in enumerate(lines) if line in ("bra.uni $roles_done;", "$roles_done:")]
    start = max(at for at in ends if at < loads[0])
    return lines[start + 1 : min(at for at in ends if at > loads[-1])]


def executed(lines: list[str]) -> int:
    """The instructions that one block executes in the lines, whose loops count from 0 to a number; no wait fails."""
    total, factors = 0, [1]
    ends = {at: line.rstrip(":") for at, line in enumerate(lines) if re.match(r"\$loop(_\d+)?:$", line)}
    for at, line in enumerate(lines):
        if at in ends:
            last = max(other for other in range(at, len(lines)) if lines[other].endswith(f"{ends[at]};"))
            trips = re.match(r"setp\.lt\.s32 %\w+, %\w+, (\d+);", lines[last - 1])
            if trips is None:
                raise ValueError(f"expected a loop to a known number, got {lines[last - 1]}")
            factors.append(factors[-1] * int(trips[1]))
        elif not _LABEL.match(line):
            total += factors[-1]
        if re.search(r"\$loop(_\d+)?;$", line) and not line.startswith("@!"):
            factors.pop()
    return total


def multiply_loop(ptx: str) -> list[str]:
    """The innermost loop with the multiplies, without the names of registers and labels; nothing if there is none."""
    lines = instructions(ptx)
    first = next(at for at, line in enumerate(lines) if re.search(r"tcgen05\.mma|wgmma\.mma_async", line))
    for start in reversed([at for at, line in enumerate(lines[:first]) if re.match(r"\$loop(_\d+)?:$", line)]):
        jump = f"{lines[start].rstrip(':')};"
        ends = [at for at in range(first, len(lines)) if lines[at].endswith(jump)]
        if ends:
            # Without the jump back, whose form depends on what follows the loop.
            test = max(at for at in range(start, ends[0]) if lines[at].startswith("setp.lt"))
            return [re.sub(r"%\w+|\$\w+|\b\d+\b", "_", line) for line in lines[start : test + 1]]
    return []


@dataclass(frozen=True)
class Traffic:
    """Bytes of the images that TMA loads."""

    multiply: int
    im2col: int
    along_w: int
    run: int | None


def traffic(layer: Layer, images: int) -> Traffic:
    pixels, filters, channels = layer.tile
    columns, depths = -(-layer.filters // filters), -(-layer.channels // channels)
    tiles = -(-images * layer.output**2 // pixels)
    row_tiles = layer.output * -(-images * layer.output // pixels)
    tile_bytes = pixels * channels * HALF_BYTES
    taps, positions = layer.taps, positions_of_run(layer)
    depth_tiles = -(-(taps**2) * layer.channels // channels)
    return Traffic(
        multiply=tiles * columns * depth_tiles * tile_bytes,
        im2col=tiles * columns * depths * taps**2 * tile_bytes,
        along_w=row_tiles * columns * depths * taps**2 * tile_bytes,
        run=None if positions is None else tiles * columns * depths * taps * positions * channels * HALF_BYTES,
    )


@cache
def positions_of_run(layer: Layer) -> int | None:
    """The pixels of a copy for all taps along W; None if TMA cannot copy them at once, or there is one tap."""
    if layer.taps == 1:
        return None
    try:
        text = compiled(layer, 1, TARGETS[0], "run").stage("gpu").content(False).decode()
    except ct.errors.UnsupportedError:
        return None
    columns = re.findall(r"kind im2col lower .*?box \[\d+, (\d+)\]", re.sub(r"\s+", " ", text))
    return max(map(int, columns))


def tensor_share(kernel: ct.Compiled) -> float:
    """The part of the time in which the tensor pipe multiplies, in the loop that multiplies most."""
    (report,) = reports_of(kernel, "cost")
    return max(report.loops, key=lambda loop: (loop.work.multiply_adds, loop.work.depth)).tensor_share


def cycles_row(rows: int, columns: int, target: str) -> list[str]:
    """The cycles of the taps along W at one position of the window, for CHANNELS channels."""
    row = [f"{rows} x {columns}", target]
    for lowering in ("im2col", "run", IN_PLACE):
        (report,) = reports_of(compiled(WIDE, 8, target, lowering, (rows, columns, CHANNELS), stop="gpu"), "cost")
        loop = max(report.loops, key=lambda loop: (loop.work.multiply_adds, loop.work.depth))
        taps = WIDE.taps if lowering == "im2col" else 1
        row.append(f"{taps * loop.cycles.cycles:.0f}")
    return row


def model_row(layer: Layer, target: str) -> list[str]:
    shares = [tensor_share(multiply(layer, 8, target)), tensor_share(compiled(layer, 8, target, "im2col"))]
    row, reasons = [layer.name, target, *(f"{share:.2f}" for share in shares)], []
    instructions_of = {}
    for mode in ("run", IN_PLACE, *STAY):
        try:
            kernel = compiled(layer, 8, target, mode)
            instructions_of[mode] = instructions(kernel.ptx)
            row.append(f"{tensor_share(kernel):.2f}")
        except ct.errors.UnsupportedError as error:
            row.append("-")
            reasons.append(f"{mode}: {str(error).split('followed: ')[-1].splitlines()[0].split(';')[0]}")
    is_run = layer.taps > 1 and instructions(compiled(layer, 8, target).ptx) == instructions_of.get("run")
    return [*row, "run" if is_run else "im2col", "; ".join(reasons)]


def pair_row(layer: Layer, target: str) -> list[str]:
    shares = [f"{tensor_share(multiply(layer, 8, target, PAIR_TILE)):.2f}"]
    for lowering in ("im2col", "run", IN_PLACE, "stationary", None):
        try:
            shares.append(f"{tensor_share(compiled(layer, 8, target, lowering, PAIR_TILE)):.2f}")
        except ct.errors.UnsupportedError:
            shares.append("-")
    return [layer.name, target, *shares]


def code_row(layer: Layer, target: str) -> list[str]:
    convolution, product = compiled(layer, 8, target, "im2col"), multiply(layer, 8, target)
    by_tma = ".im2col.mbarrier" in convolution.ptx
    row = [layer.name, target, "im2col" if by_tma else "gather"]
    if not by_tma:
        return [*row, *["-"] * 7, "; ".join(remark.message for remark in convolution.all_remarks)]
    mine, other = load_role(convolution.ptx), load_role(product.ptx)
    loops = multiply_loop(convolution.ptx), multiply_loop(product.ptx)
    same = "the same" if loops[0] == loops[1] else "other"
    sizes = (count(other), count(mine), executed(other), executed(mine))
    ratios = f"{sizes[1] / sizes[0]:.2f}", f"{sizes[3] / sizes[2]:.2f}"
    return [*row, *map(str, sizes), *ratios, same, ""]


def traffic_row(layer: Layer, images: int) -> list[str]:
    found = traffic(layer, images)
    sizes = [f"{size / 2**20:.1f}" for size in (found.multiply, found.im2col, found.along_w)]
    row = [layer.name, str(images), str(images * layer.output**2), *sizes]
    return (
        [*row, "-", "-"] if found.run is None else [*row, f"{found.run / 2**20:.1f}", f"{found.im2col / found.run:.2f}"]
    )


def table(head: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for number, row in enumerate(rows, 1):
        show_progress(f"row {number}: {row[0]}")
        yield f"| {' | '.join(row)} |"
    show_progress("")


CODE = ["layer", "target", "images by", "written, GEMM", "convolution", "executed, GEMM", "convolution"]
CODE += ["ratio written", "ratio executed", "loop of multiplies", ""]
TRAFFIC = [
    "layer",
    "N",
    "M",
    "GEMM, MiB",
    "im2col, MiB",
    "im2col::w per tap, MiB",
    "run, MiB",
    "im2col / run",
]
MODEL = ["layer", "target", "GEMM", "im2col", "run", IN_PLACE, *STAY, "chosen", "refused because"]
PAIRS = ["layer", "target", "GEMM", "im2col", "run", IN_PLACE, "stationary", "chosen"]
CYCLES = ["tile", "target", "im2col", "run", IN_PLACE]
# The layer and the tiles of CYCLES: rows of images are those of an instruction of sm_90a.
WIDE = Layer("", 64, 256, 256, 3, 1, 1)
TILES = ((128, 128), (128, 256), (256, 128))
TARGETS = ("sm_100a", "sm_90a")
OF_PAIRS = tuple(layer for layer in LAYERS if layer.filters >= PAIR_TILE[1] and layer.taps == 3)


def check_of_traffic() -> None:
    """The formulas against the bytes that the simulator counts."""
    import numpy as np

    layer = Layer("", 12, 64, 64, 3, 1, 1)
    x = np.zeros((1, layer.extent, layer.extent, layer.channels), np.float16)
    filters = np.zeros((layer.taps, layer.taps, layer.channels, layer.filters), np.float16)
    y = np.zeros((1, layer.output, layer.output, layer.filters), np.float16)
    tiles = -(-(layer.output**2) // PIXELS)
    for lowering, expected in (("im2col", traffic(layer, 1).im2col), ("run", traffic(layer, 1).run)):
        counters = ct.run(compiled(layer, 1, "sm_100a", lowering), tiles, [x, filters, y], backend="simulate") or {}
        found = counters["bulk_load_bytes"] - tiles * filters.nbytes
        if found != expected:
            raise SystemExit(f"the simulator counts {found} bytes of images, the formula gives {expected}")


def report() -> Iterator[str]:
    yield "# Convolutions by im2col"
    yield ""
    yield "Made by `python benchmarks/convolution.py`: instructions of PTX, and bytes of images (f16) that TMA loads."
    yield ""
    yield "## Code, N = 8"
    yield ""
    yield "Instructions of the role that loads: those in the text, and those that one block executes if no wait fails."
    yield ""
    yield from table(CODE, (code_row(layer, target) for layer in LAYERS for target in TARGETS))
    yield ""
    yield "## Tensor pipe, N = 8"
    yield ""
    yield "The part of the time in which the tensor pipe multiplies in the loop, by the cost model. No source has the"
    yield "cycles of `tcgen05.mma.ws`: the model counts those of a multiply of 128 rows and as many elements."
    yield ""
    yield from table(MODEL, (model_row(layer, target) for layer in LAYERS for target in TARGETS))
    yield ""
    pairs = "pairs on sm_100a, multicast of the filters on sm_90a and in mode stationary"
    yield f"Tiles of 256 x 256, which two CTAs compute: {pairs}."
    yield ""
    yield from table(PAIRS, (pair_row(layer, target) for layer in OF_PAIRS for target in TARGETS))
    yield ""
    taps = f"{WIDE.taps} taps along W for {CHANNELS} channels"
    yield f"Cycles of {taps}, by the cost model; images are {WIDE.extent} wide."
    yield ""
    yield from table(CYCLES, (cycles_row(*tile, target) for tile in TILES for target in TARGETS))
    yield ""
    yield "## Traffic"
    yield ""
    yield from table(TRAFFIC, (traffic_row(layer, images) for layer in LAYERS for images in BATCHES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the Markdown file (default: print it)")
    output = parser.parse_args().file
    show_progress("the simulator counts the bytes of images")
    check_of_traffic()
    text = "\n".join(report()) + "\n"
    if output is not None:
        output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
