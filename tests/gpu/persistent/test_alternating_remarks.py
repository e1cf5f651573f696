"""Each reason why one role computes all tiles of a persistent loop whose epilogue stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.compile_options import DEFAULTS
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.kernel_pass import Context
from tilec.lowering.gpu.roles.alternate_tiles import alternate_tiles
from tilec.lowering.target import target_named
from tilec.remarks import Remark
from tilec.text_input.stage_module import read_stage_module

# A kernel whose tiles two roles compute.
KERNEL = (Path(__file__).parent / "alternate_tiles.mlir").read_text()
# By what is changed in it, the reason.
REASONS = {
    (("load warps 1 {\n  }", "load warps 1 {\n  } store warps 1 {\n  }"),): "several roles compute a tile",
    (("producer tma", "producer threads"),): "TMA does not load all operands of its multiplies",
    (("consumers [wgmma]", "consumers [wgmma, threads]"),): "threads read operands of its multiplies",
    (
        ("(0,32) lane", "(0,32)(0,64)(0,128)(0,256) lane"),
        ("shape=64x64", "shape=64x512"),
        ("tensor<64x64xf32", "tensor<64x512xf32"),
        ("!b = buffer<64x64xf16", "!b = buffer<64x512xf16"),
        ("!s = buffer<64x64xf32", "!s = buffer<64x512xf32"),
    ): "a thread of two roles has 232 registers, and needs 2",
    (
        (
            "  %block = ",
            "  %more = tile_gpu.shared : buffer<64x512xf32, shared, contiguous=1 swizzle=128B>\n  %block = ",
        ),
    ): "4 slots of 16384 bytes and 147456 bytes of shared memory for a second epilogue do not fit: use smaller tiles",
}


def remarks(text: str) -> tuple[bool, list[Remark]]:
    module = read_stage_module(text, "kernel.mlir")
    (kernel,) = operations_named(module, ("tile_gpu.kernel",))
    context = Context.of(kernel, target_named("sm_90a"), DEFAULTS, [])
    return alternate_tiles(kernel, context), context.remarks


def test_unchanged_kernel_has_no_remark() -> None:
    assert remarks(KERNEL) == (True, [])


@pytest.mark.parametrize("changes", REASONS)
def test_reason(changes: tuple[tuple[str, str], ...]) -> None:
    text = KERNEL
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    is_changed, (remark,) = remarks(text)
    assert not is_changed
    assert remark.message.startswith(f"multiplies of the next tile wait for the epilogue: {REASONS[changes]}")
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "scf.for %tile" in each)
    assert remark.location is not None and (remark.location.file, remark.location.line) == ("kernel.mlir", line)
