"""The text of each stage compiles to the instructions of the whole compile, and later stages leave it as it is."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import pytest
from ptx_instructions import instructions

import tilec as ct
from tilec.commands.command_line import main

TESTS = Path(__file__).parents[1]
CONVOLUTION, GRADIENTS = (TESTS.parent / "examples" / f"{name}.py" for name in ("convolution", "convolution_gradients"))
GOLDEN = TESTS / "golden" / "kernels.py"
TARGETS, STAGES = ("sm_100a", "sm_90a"), ("tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir")
IMAGES, FILTERS, PAIR = "f16[?,?,?,?%8]", "f16[?,?,?%8,?%8]", {"num_ctas": 2}


def _golden_signatures() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("golden_signatures", GOLDEN)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signatures: dict[str, str] = module.SIGNATURES
    return signatures


# By name, the kernel, its signature and its hints: kernels of tests/golden, of the examples, and one of a cluster.
KERNELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    **{name: (f"{GOLDEN}:{name}", signature, {}) for name, signature in _golden_signatures().items()},
    "matmul of a cluster": (f"{GOLDEN}:matmul", "A: f16[?,?], B: f16[?,?], C: f16[?,?%8], tm=256, tn=128, tk=64", PAIR),
    "convolution": (
        f"{CONVOLUTION}:convolution_kernel", f"x: {IMAGES}, filters: {FILTERS}, y: f16[?,?%8], stride=2", {},
    ),
    "persistent convolution": (
        f"{CONVOLUTION}:persistent_kernel", f"x: {IMAGES}, filters: {FILTERS}, y: f16[?,?%8], stride=1", {},
    ),
    "convolution with a bias": (
        f"{CONVOLUTION}:bias_relu_kernel",
        f"x: {IMAGES}, filters: {FILTERS}, bias: f32[?], y: f16[?,?%8], stride=1", {},
    ),
    "gradient of images": (
        f"{GRADIENTS}:images_kernel", f"dy: {IMAGES}, filters: {FILTERS}, dx: f32[?,?,?,?%4]", {},
    ),
    # Stores of images that TMA does not do.
    "strided gradient of images": (
        f"{GRADIENTS}:strided_images_kernel",
        f"dy: {IMAGES}, filters: {FILTERS}, dx: f32[?,?,?,?%4], stride=2", {},
    ),
    "gradient of filters": (
        f"{GRADIENTS}:filters_kernel",
        f"x: {IMAGES}, dy: {IMAGES}, df: f32[?,?,?,?%4], stride=1, parts=2", {},
    ),
}  # fmt: skip


def test_kernel_of_tile_gpu_without_a_signature_has_no_launch_metadata(tmp_path: Path) -> None:
    text = 'tile_gpu.kernel @k(%n: i32) target "sm_100a" warps 4 {\n  tile_gpu.return\n}\n'
    (tmp_path / "k.gpu.mlir").write_text(text)
    main(["compile", str(tmp_path / "k.gpu.mlir"), "-o", str(tmp_path / "k.ptx")])
    assert ".entry k(" in (tmp_path / "k.ptx").read_text()
    assert not (tmp_path / "k.launch.json").exists()


def compiled(name: str, target: str, stop: str = "ptx") -> ct.Compiled:
    source, signature, hints = KERNELS[name]
    return ct.compile(source, signature=signature, target=target, hints=hints, stop=stop)


def _rows() -> list[Any]:
    """All kernels, targets and stages; the ordinary tests have each kernel once, and each stage on both targets."""
    rows = []
    for (number, name), (at, target), stage in itertools.product(enumerate(KERNELS), enumerate(TARGETS), STAGES):
        is_ordinary = number % len(TARGETS) == at and STAGES[number % len(STAGES)] == stage
        rows.append(pytest.param(name, target, stage, marks=() if is_ordinary else pytest.mark.soak))
    return rows


@pytest.mark.parametrize(("name", "target", "stage"), _rows())
def test_a_stage_compiles_to_the_instructions_of_the_whole(name: str, target: str, stage: str) -> None:
    whole = compiled(name, target)
    # The text of a stage contains what the hints have changed before it.
    again = ct.compile(whole.stage(stage).text, target=target, hints=KERNELS[name][2], stop="ptx")
    assert instructions(again.ptx) == instructions(whole.ptx)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_later_stages_do_not_change_the_text_of_a_stage(name: str, target: str) -> None:
    """Texts are printed when they are read; one that is read before the next stages run is the same."""
    before = compiled(name, target, "tile-opt").stage("tile-opt").text
    assert compiled(name, target, "gpu-raw").stage("tile-opt").text == before
