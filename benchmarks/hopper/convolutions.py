"""Times convolutions on a Hopper GPU, beside cuDNN and Triton: the 3 x 3 layers of ResNet-50 and of the UNet.

    python benchmarks/hopper/convolutions.py make FOLDER             on a machine with tilec
    python FOLDER/hopper/convolutions.py run FOLDER [--json FILE]    where the GPU, torch, Triton and cuda-bindings are

`make` compiles each layer (benchmarks/convolution.py) with the lowering that the compiler chooses, with the others that
the target has, and with tiles that two CTAs compute. `run` compares each result with torch in float32, then measures
all programs of a layer in turn, as timing.py does. cuDNN has the same arrays, channels last, and chooses its fastest
algorithm; Triton gathers the pixels of each tap, and its fastest tile counts. The last line is the geometric mean of
the time of cuDNN over that of the fastest program of tilec. The exit status is 1 if a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

TARGET = "sm_90a"
NETWORKS, TAPS = ("ResNet-50", "UNet"), 3
IMAGES = {"ResNet-50": 32, "UNet": 8}
LIBRARY, TRITON = "cuDNN", "Triton"
# The sums have up to 23040 products of numbers in float16, and are rounded to float16: a relative error in the
# Frobenius norm, as for the products of timing.py.
TOLERANCE = 2e-3
# Tiles of Triton, with warps and stages.
TRITON_TILES = (((128, 128, 64), 8, 3), ((128, 64, 64), 4, 4), ((64, 128, 64), 4, 4), ((128, 256, 64), 8, 3))
LOWERINGS: dict[str, str | None] = {"tilec": None, "tilec im2col": "im2col", "tilec run": "run"}


def layers() -> list[Any]:
    """The layers of benchmarks/convolution.py that are measured."""
    from convolution import LAYERS

    return [layer for layer in LAYERS if layer.network in NETWORKS and layer.taps == TAPS]


def programs(layer: Any, images: int) -> Iterator[tuple[str, tuple[int, int, int], Any]]:
    """The programs of a layer: the name, the pixels, filters and channels of a tile, and the compiled kernel."""
    from convolution import PAIR_TILE, compiled

    for tile in (None, PAIR_TILE) if layer.filters >= PAIR_TILE[1] else (None,):
        for name, lowering in LOWERINGS.items():
            kernel = compiled(layer, images, TARGET, lowering, tile, stop=None)
            yield name if tile is None else f"{name} of two CTAs", tile or layer.tile, kernel


def grid_of(layer: Any, images: int, tile: tuple[int, int, int]) -> tuple[int, int, int]:
    """The tile blocks of a launch."""
    pixels, filters, _ = tile
    return -(-images * layer.output**2 // pixels) * -(-layer.filters // filters), 1, 1


def make(folder: Path) -> None:
    """Compiles all programs to a folder, with the modules that `run` needs."""
    from tilec.runtime.artifact import artifact

    for layer in layers():
        place = folder / "layers" / _file_name(layer)
        place.mkdir(parents=True, exist_ok=True)
        grids = {}
        for name, tile, kernel in programs(layer, IMAGES[layer.network]):
            artifact.save(kernel.artifact, place / name)
            grids[name] = grid_of(layer, IMAGES[layer.network], tile)
        sizes = {"images": IMAGES[layer.network], "output": layer.output}
        fields = {name: getattr(layer, name) for name in ("name", "extent", "channels", "filters", "stride", "padding")}
        (place / "layer.json").write_text(json.dumps({**sizes, **fields, "grids": grids}))
        print(layer.name, flush=True)
    _copy_modules(folder)


def _file_name(layer: Any) -> str:
    return str(layer.name).replace(" ", "_").replace("/", "_")


def _copy_modules(folder: Path) -> None:
    from hopper.timing import copy_modules

    copy_modules(folder)


def run(folder: Path, output: Path | None) -> int:
    """Measures all layers of a folder."""
    rows: list[dict[str, Any]] = []
    for place in sorted((folder / "layers").iterdir()):
        for row in _measured(json.loads((place / "layer.json").read_text()), place):
            rows.append(row)
            right = "" if row.get("right", True) else "  WRONG"
            print(f"{row['layer']:32} {row['program']:28} {row['us']:9.1f} us {row['tflops']:7.1f} TFLOP/s{right}")
    if output is not None:
        output.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"geometric mean of {LIBRARY} / tilec: {geometric_mean(rows):.3f}")
    return 0 if all(row.get("right", True) for row in rows) else 1


def geometric_mean(rows: Iterable[dict[str, Any]]) -> float:
    """The geometric mean over layers of the time of the library over that of the fastest program of tilec."""
    times: dict[str, dict[str, float]] = {}
    for row in rows:
        times.setdefault(row["layer"], {})[row["program"]] = row["us"]
    own = [min(time for name, time in found.items() if name.startswith("tilec")) for found in times.values()]
    ratios = [found[LIBRARY] / time for found, time in zip(times.values(), own, strict=True)]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _measured(layer: dict[str, Any], place: Path) -> Iterator[dict[str, Any]]:
    import torch
    from torch.nn import functional

    from hopper.timing import times
    from tilec.runtime.artifact.artifact import load
    from tilec.runtime.launch.launch import launch

    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    images, extent, output = layer["images"], layer["extent"], layer["output"]
    channels, filters = layer["channels"], layer["filters"]
    x = torch.randn(images, extent, extent, channels, device="cuda").half()
    f = (torch.randn(TAPS, TAPS, channels, filters, device="cuda") / math.sqrt(TAPS**2 * channels)).half()
    y = torch.empty(images, output, output, filters, device="cuda", dtype=torch.float16)
    # The same images, and filters that are copied once: cuDNN reads both channels last.
    nchw = x.permute(0, 3, 1, 2)
    kcrs = f.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    geometry = {"stride": layer["stride"], "padding": layer["padding"]}
    expected = functional.conv2d(nchw.float(), kcrs.float(), **geometry).permute(0, 2, 3, 1)
    calls: dict[str, Callable[[], Any]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for name, grid in layer["grids"].items():
        artifact = load(place / f"{name}.launch.json")
        calls[name] = lambda a=artifact, g=tuple(grid): launch(a, g, [x, f, y])
        y.fill_(float("nan"))
        calls[name]()
        torch.cuda.synchronize()
        error = float((y.float() - expected).norm() / expected.norm())
        rows[name] = {"error": error, "right": error <= TOLERANCE}
    calls[LIBRARY] = lambda: functional.conv2d(nchw, kcrs, **geometry)
    calls |= _by_triton(layer, x, f, y)
    operations = 2 * images * output**2 * filters * TAPS**2 * channels
    for name, (microseconds, clock) in times(calls).items():
        rate = {"us": microseconds, "clock": clock, "tflops": round(operations / microseconds / 1e6, 1)}
        yield {"layer": layer["name"], "program": name, **rate, **rows.get(name, {})}


def _by_triton(layer: dict[str, Any], x: Any, f: Any, y: Any) -> dict[str, Callable[[], Any]]:
    """The kernel of Triton with each tile that fits, by the tile."""
    import triton

    from hopper.triton_convolution import convolution

    sizes = [layer[name] for name in ("images", "extent", "channels", "filters", "output", "stride", "padding")]
    pixels, calls = layer["images"] * layer["output"] ** 2, dict[str, Callable[[], Any]]()
    for (rows, columns, depth), warps, stages in TRITON_TILES:
        grid = (triton.cdiv(pixels, rows) * triton.cdiv(layer["filters"], columns),)
        constants = {"TAPS": TAPS, "TM": rows, "TN": columns, "TK": depth, "num_warps": warps, "num_stages": stages}

        def call(grid: tuple[int] = grid, constants: dict[str, int] = constants) -> None:
            convolution[grid](x, f, y, *sizes, **constants)

        try:
            call()
        except triton.runtime.errors.OutOfResources:
            continue
        calls[f"{TRITON} {rows}x{columns}x{depth}"] = call
    return calls


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("make", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.action == "run":
        return run(folder, options.json)
    make(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
