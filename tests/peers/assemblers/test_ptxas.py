"""ptxas of the extra `peers` and of the PATH compile the PTX of every kernel of tests/kernels without warnings."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import atomic_kernels
import block_scaling
import cluster_kernels
import im2col_kernels
import pytest
import test_clusters_of_rows as rows
import test_interleaved_convolution as slices
import test_packed_views as packed
from signatures import CASES, KERNELS, SIGNATURES, TILE, convolution

import tilec
from tilec.language.kernel import Kernel

pytestmark = pytest.mark.peers


def assemblers() -> list[Path]:
    spec = find_spec("nvidia")
    assert spec is not None and spec.submodule_search_locations is not None
    found = [path for folder in spec.submodule_search_locations for path in Path(folder).glob("*/bin/ptxas")]
    on_path = shutil.which("ptxas")
    return found + [Path(on_path)] * (on_path is not None)


ATOMIC_CASES = [(name, text) for name, texts in atomic_kernels.SIGNATURES.items() for text in texts]


def test_every_kernel_is_compiled() -> None:
    assert set(SIGNATURES) == set(KERNELS)
    atomic = {name for name, value in vars(atomic_kernels).items() if isinstance(value, Kernel)}
    assert set(atomic_kernels.SIGNATURES) == atomic


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("name", "signature"), [*CASES, *ATOMIC_CASES])
def test_accepted_without_warnings(name: str, signature: str, target: str, tmp_path: Path) -> None:
    kernel = KERNELS[name] if name in KERNELS else getattr(atomic_kernels, name)
    assert_accepted(tilec.compile(kernel, target=target, signature=signature, stop="ptx").ptx, target, tmp_path)


@pytest.mark.parametrize("mode", ["w", "w128"])
@pytest.mark.parametrize("dimensions", ["w", "hw", "dhw"])
def test_convolutions_along_w_are_accepted(dimensions: str, mode: str, tmp_path: Path) -> None:
    kernel, signature = KERNELS[f"convolution_{len(dimensions)}d"], convolution("f16", dimensions, TILE, mode)
    assert_accepted(tilec.compile(kernel, target="sm_100a", signature=signature, stop="ptx").ptx, "sm_100a", tmp_path)


ELEMENTS = {"f8E4M3FN": ("f8E8M0FNU", 32, 1), "f8E5M2": ("f8E8M0FNU", 32, 1), "u8": ("f8E4M3FN", 16, 2)}


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("element", ELEMENTS)
def test_block_scaling_is_accepted(element: str, target: str, tmp_path: Path) -> None:
    scale, block, packed = ELEMENTS[element]
    signature = (
        f"A: {element}[?,?], SA: {scale}[?,?], B: {element}[?,?], SB: {scale}[?,?], C: f32[?,?], "
        f"tm=128, tn=64, tk=128, block={block}, packed={packed}"
    )
    compiled = tilec.compile(block_scaling.matmul, target=target, signature=signature, stop="ptx")
    assert ("block_scale" in compiled.ptx) == (target == "sm_100a")
    assert_accepted(compiled.ptx, target, tmp_path)


@pytest.mark.parametrize(
    ("kernel", "tile"),
    [
        (block_scaling.matmul_of_blocks, "tm=128, tn=128, tk=128, block=32, packed=1"),
        (block_scaling.matmul_of_blocks, "tm=256, tn=256, tk=128, block=32, packed=1"),
        (block_scaling.repeated_factors, "tm=128, tn=128, tk=128, block=32"),
    ],
    ids=["one CTA", "pairs", "repeated"],
)
def test_scale_factors_in_blocks_are_accepted(kernel: Kernel, tile: str, tmp_path: Path) -> None:
    signature = (
        f"A: f8E4M3FN[?,?], SA: f8E8M0FNU[?,?,?,?], B: f8E4M3FN[?,?], SB: f8E8M0FNU[?,?,?,?], C: f32[?,?], {tile}"
    )
    compiled = tilec.compile(kernel, target="sm_100a", signature=signature, stop="ptx")
    assert_accepted(compiled.ptx, "sm_100a", tmp_path)


WINDOW = im2col_kernels.Window(2, (3, 4, 5), (2, 2, 3), (1, 0, 2), (0, 1, 1), (1, 2, 1), (1, 1, 1), 128)
CROP = im2col_kernels.Window(2, (7, 9), (1, 1), (-1, -2), (-2, -1), (1, 1), (1, 1))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_im2col_is_accepted(target: str, tmp_path: Path) -> None:
    texts = [im2col_kernels.taps_kernel(WINDOW, target, columns=128)]
    texts += [im2col_kernels.store_kernel(CROP, target, reduction=added) for added in ("", " reduction add")]
    if target == "sm_100a":
        texts.append(im2col_kernels.rows_kernel(WINDOW, target, "im2col_w", halo=2))
        texts.append(im2col_kernels.rows_kernel(WINDOW, target, "im2col_w128", rows=128, halo=2))
    for text in texts:
        assert_accepted(tilec.compile(text, target=target, stop="ptx").ptx, target, tmp_path)


def test_clusters_are_accepted(tmp_path: Path) -> None:
    for text, target in cluster_kernels.KERNELS.values():
        assert_accepted(tilec.compile(text(), target=target, stop="ptx").ptx, target, tmp_path)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_clusters_of_rows_are_accepted(target: str, tmp_path: Path) -> None:
    signature = "X: f32[?,32768], Y: f32[?,32768], size=32768"
    made = tilec.compile(rows.softmax, signature=signature, target=target, hints={"num_ctas": 4}, stop="ptx")
    assert "st.shared::cluster" in made.ptx
    assert_accepted(made.ptx, target, tmp_path)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_packed_views_and_slices_are_accepted(target: str, tmp_path: Path) -> None:
    data = "data: u8[?,?], bits=6"
    images = "images: f16[?,?,?,?,8], filters: f16[3,2,?,16], output: f16[?,?,?,?,8], c=8, tile=32"
    for kernel, signature in ((packed.increment, data), (slices.convolution, images)):
        assert_accepted(tilec.compile(kernel, target=target, signature=signature, stop="ptx").ptx, target, tmp_path)


def assert_accepted(ptx: str, target: str, tmp_path: Path) -> None:
    """Asserts that every ptxas compiles the PTX and prints nothing."""
    assert ptx.splitlines()[0] == ".version 9.0"
    source = tmp_path / "kernel.ptx"
    source.write_text(ptx)
    assert assemblers()
    for ptxas in assemblers():
        command = [str(ptxas), f"-arch={target}", str(source), "-o", str(tmp_path / "kernel.cubin")]
        process = subprocess.run(command, capture_output=True, text=True)
        assert (process.returncode, process.stdout + process.stderr) == (0, ""), f"{ptxas}: {process.stderr}"
