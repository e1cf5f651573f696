"""ptxas takes the PTX of every kernel of tests/kernels without a word: that of the extra `peers`, and the PATH's."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import tilec
from tilec.kernel import Kernel

pytestmark = pytest.mark.peers

KERNELS = Path(__file__).parent.parent / "kernels"
HALF, SINGLE, TILE = "f16[?,?]", "f32[?,?]", "tm=128, tn=64, tk=64"
MATMUL = f"A: {HALF}, B: {HALF}, C: {HALF}, {TILE}"
SIGNATURES = {
    "matmul": [MATMUL, MATMUL.replace("f16", "bf16"), f"A: {SINGLE}, B: {SINGLE}, C: {SINGLE}, tm=64, tn=64, tk=32"],
    "matmul_tf32": [f"A: {SINGLE}, B: {SINGLE}, C: {SINGLE}, tm=128, tn=64, tk=32"],
    "matmul_f16_accumulator": [MATMUL],
    "two_products": [f"A: {HALF}, B: {HALF}, C: {HALF}, P: {HALF}, Q: {HALF}, {TILE}"],
    "chained": [f"A: {HALF}, B: {HALF}, C: {HALF}, D: {HALF}, {TILE}"],
    "single": [f"A: {HALF}, B: {HALF}, C: {SINGLE}, D: {SINGLE}, {TILE}"],
    "scaled_operand": [MATMUL],
    "rescaled": [MATMUL],
    "persistent": [MATMUL],
    "under_if": [MATMUL],
    "strided": [f"X: {HALF}, Y: {HALF}, rows=32, columns=64, row_step=48, column_step=32"],
    "strided_matmul": [f"{MATMUL}, step=48"],
    "softmax": [f"X: {SINGLE}, Y: {SINGLE}, rows=128, columns=256", f"X: {HALF}, Y: {HALF}, rows=128, columns=256"],
    "sums": [f"X: {SINGLE}, R: f32[?], C: f32[?], rows=128, columns=64"],
    "attention": [f"Q: {HALF}, K: {HALF}, V: {HALF}, O: {HALF}, scale=0.125, tm=128, tn=64, width=64"],
    "in_place": [f"X: {SINGLE}, rows=64, columns=64"],
    "early_exits": ["X: i32[?], Y: i32[?], size=64, limit=3000"],
    "gathered": ["X: f32[?], I: i32[?], Y: f32[?], size=64"],
    "batched": [f"A: f16[?,?,?], B: f16[?,?,?], C: f16[?,?,?], {TILE}"],
    "layer_norm": [f"X: {SINGLE}, W: f32[?], B: f32[?], Y: {SINGLE}, eps=0.00001, size=512"],
    "running_sum": [f"X: {SINGLE}, Y: {SINGLE}, rows=64, columns=64"],
}
CASES = [
    pytest.param(name, text, id=f"{name}-{number}")
    for name, texts in SIGNATURES.items()
    for number, text in enumerate(texts)
]


def assemblers() -> list[Path]:
    spec = find_spec("nvidia")
    assert spec is not None and spec.submodule_search_locations is not None
    found = [path for place in spec.submodule_search_locations for path in Path(place).glob("*/bin/ptxas")]
    on_path = shutil.which("ptxas")
    return found + [Path(on_path)] * (on_path is not None)


@pytest.fixture(autouse=True)
def kernels_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(KERNELS)


def test_every_kernel_is_here() -> None:
    programs = importlib.import_module("programs")
    assert set(SIGNATURES) == {name for name, value in vars(programs).items() if isinstance(value, Kernel)}


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize(("name", "signature"), CASES)
def test_accepted_without_warnings(name: str, signature: str, target: str, tmp_path: Path) -> None:
    kernel = getattr(importlib.import_module("programs"), name)
    ptx = tilec.compile(kernel, target=target, signature=signature, stop="ptx").ptx
    assert ptx.splitlines()[0] == ".version 9.0"
    source = tmp_path / "kernel.ptx"
    source.write_text(ptx)
    assert assemblers()
    for ptxas in assemblers():
        words = [str(ptxas), f"-arch={target}", str(source), "-o", str(tmp_path / "kernel.cubin")]
        ran = subprocess.run(words, capture_output=True, text=True)
        assert (ran.returncode, ran.stdout + ran.stderr) == (0, ""), f"{ptxas}: {ran.stderr}"
