"""What benchmarks/pass_value.py measures of a pass: the kernels that it changes, and their figures without it."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pass_value
import pytest
from pass_value import Figures, Kernel, Row, code_bytes, count_instructions, modelled_cycles, table, verdict

import tilec
from tilec.errors import UnsupportedError
from tilec.lowering.gpu.passes import PASSES

MATMUL = f"{Path(__file__).parents[1] / 'golden' / 'kernels.py'}:matmul"
SIGNATURE = "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=128, tn=128, tk=64"


def compiled(target: str, stop: str) -> Any:
    return tilec.compile(MATMUL, signature=SIGNATURE, target=target, stop=stop)


def test_rows_are_those_of_passes_that_change_the_kernel() -> None:
    before = dict(PASSES)
    only = ("fuse-channels", "order-steps", "make-channels")
    rows = list(pass_value.measure(Kernel("matmul", compiled), "sm_100a", only, "ptx"))
    # A and B have one channel of two buffers with the pass, and two channels without: more barriers, and more code.
    assert [row.name for row in rows] == ["make-channels", "fuse-channels"]
    assert rows[1].without is not None and rows[1].without.ptx > rows[1].base.ptx
    # The kernel is not compiled without a pass that gives a state which others need.
    assert rows[0].without == rows[0].base
    assert before == dict(PASSES)


def test_pass_of_an_option_that_is_off_has_kernels_with_the_option() -> None:
    """No other pass has rows of them: without `persistent=on` the pass leaves every kernel as it is."""

    def persistent(target: str, stop: str) -> Any:
        hints = {"persistent": True}
        return tilec.compile(MATMUL, signature=SIGNATURE, target=target, stop=stop, hints=hints)

    kernel = Kernel("matmul persistent=on", persistent, option="persistent")
    (row,) = pass_value.measure(kernel, "sm_100a", (), "ptx")
    assert row.name == "persist" and row.without is not None and row.without.ptx < row.base.ptx
    assert "persist" not in Kernel("matmul", compiled).passes
    found = [each for each in pass_value.kernels() if each.option is not None]
    assert {name for each in found for name in each.passes} == {"persist"} == found[0].passes


def test_kernel_that_does_not_compile_without_a_pass_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise UnsupportedError("no slot\nmore lines")

    monkeypatch.setattr(pass_value, "compile_without", refused)
    (row,) = pass_value.measure(Kernel("matmul", compiled), "sm_90a", ("fuse-channels",), "ptx")
    assert (row.without, row.failure, row.slower) == (None, "error: no slot", float("inf"))


def test_instructions_are_those_of_ptx_without_labels_and_directives() -> None:
    text = """.version 9.0
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<4>;
    // add is a comment;
    mov.u32 %r1, %tid.x;
$loop:
    @%p1 bra $loop;
    @!%p2 mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;
    ret;
}
"""
    assert count_instructions(text) == 4


def test_machine_code_is_the_section_of_the_entry() -> None:
    # A header, the names of sections from byte 64, and three sections of which the second has the code.
    names = b"\0.text.k\0.text.k2\0"
    rows = [(1, 1, 6, 0, 200, 48), (9, 1, 6, 0, 300, 32), (0, 3, 0, 0, 64, len(names))]
    header = bytearray(64 + len(names))
    header[40:48], header[60:64] = (64 + len(names)).to_bytes(8, "little"), bytes([3, 0, 2, 0])
    header[64:] = names
    file = bytes(header) + b"".join(struct.pack("<IIQQQQIIQQ", *row, 0, 0, 0, 0) for row in rows)
    assert (code_bytes(file, "k"), code_bytes(file, "k2")) == (48, 32)
    with pytest.raises(LookupError, match="no code of 'm'"):
        code_bytes(file, "m")


def loop(cycles: float, depth: int, line: int = 0, **more: Any) -> Any:
    """A loop of the cost report, as far as its cycles need it."""
    known = {"iterations": None, "multiply_adds": 0, "tma_bytes": 0, "thread_bytes": 0, "has_inner_loops": False}
    work = SimpleNamespace(**{**known, "location": line, "depth": depth, **more})
    return SimpleNamespace(work=work, cycles=SimpleNamespace(cycles=cycles), epilogue=None)


def test_cycles_of_an_unrolled_loop_are_per_unit_of_work() -> None:
    # Four iterations of 8 bytes in 40 cycles, and a loop of one iteration in 16 cycles for the rest.
    loops = [loop(100, -1), loop(40, 0, line=7, thread_bytes=32), loop(16, 0, line=7, thread_bytes=8)]
    assert modelled_cycles(loops, ()) == (40 / 32, 100 + 64 * 10)


def test_loop_that_only_fills_a_ring_counts_as_none() -> None:
    loops = [loop(5, 0, line=7, tma_bytes=2), loop(40, 0, line=7, multiply_adds=4)]
    assert modelled_cycles(loops, ()) == (10, 64 * 40)


def test_loops_that_multiply_have_the_iterations_of_the_case() -> None:
    loops = [loop(50, -1), loop(20, 0, line=1, multiply_adds=2), loop(60, 0, line=2, multiply_adds=2)]
    assert modelled_cycles(loops, (3, 1)) == ((3 * 10 + 30) / 4, 50 + 3 * 20 + 60)


def test_loop_of_tiles_counts_what_no_inner_loop_hides() -> None:
    tiles = loop(900, 0, line=1, has_inner_loops=True)
    tiles.epilogue = SimpleNamespace(exposed=300)
    assert modelled_cycles([tiles, loop(10, 1, line=2, multiply_adds=5, iterations=8)], ()) == (2, 300 + 80)


def row(kernel: str, cycles: float, instructions: int = 100, spill_bytes: int = 0, name: str = "fuse-channels") -> Row:
    """A pass whose kernel has 100 cycles and instructions with it, and these without it."""
    base, without = Figures(100, 100, 10, 100, 64, 0), Figures(cycles, 100, 10, instructions, 64, spill_bytes)
    return Row(name, kernel, Kernel(kernel, compiled).family, "sm_100a", base, without)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("gemm a", 120), row("attention b", 103)], "pays; saves cycles: attention, gemm"),
        ([row("gemm a", 120), row("matmul", 120)], "one family; saves cycles: gemm"),
        ([row("gemm a", 120), row("moe b", 100, instructions=105)], "pays; saves cycles: gemm; saves code: moe"),
        ([row("softmax", 100, spill_bytes=8)], "one family; saves code: rows"),
        ([row("gemm a", 100.5)], "pays nowhere"),
        ([row("gemm a", 90)], "pays nowhere; costs cycles of 1"),
        ([], "changes no kernel"),
    ],
)
def test_verdict_follows_from_the_figures(rows: list[Row], expected: str) -> None:
    assert verdict("fuse-channels", rows) == expected


def test_table_has_a_line_for_each_pass() -> None:
    lines = table([row("gemm a", 120), row("gemm b", 90, instructions=98)], ["fuse-channels", "make-channels"])
    *_, fused, made = lines.splitlines()
    assert fused == (
        "| `fuse-channels` | 2 gemm sm_100a | 2 | 1 | 20% (gemm a, sm_100a) | +0% to +0% | -2% to +0% | - "
        "| one family; saves cycles: gemm; costs cycles of 1 |"
    )
    assert made == "| `make-channels` | - | 0 | - | - | - | - | - | others need it |"
