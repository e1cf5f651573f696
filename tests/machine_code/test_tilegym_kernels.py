"""benchmarks/tilegym_kernels.py keeps figures beside the bytecode, and adds no records to those of an earlier run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import tilegym_kernels
from tilegym_host.kernel_records import KernelRecord
from tilegym_host.table import KernelRow


def test_records_of_an_earlier_run_need_reuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    words = ["tilegym_kernels.py", str(checkout), "--records", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    assert tilegym_kernels.arguments().target == ["sm_100a", "sm_90a"]
    (tmp_path / "sm_90a").mkdir()
    (tmp_path / "sm_90a" / "records.jsonl").touch()
    with pytest.raises(SystemExit):
        tilegym_kernels.arguments()
    assert "sm_90a has the records of an earlier run: add --reuse" in capsys.readouterr().err
    for others in (["--reuse"], ["--target", "sm_100a"]):
        monkeypatch.setattr(sys, "argv", [*words, *others])
        assert tilegym_kernels.arguments().records == tmp_path


def test_figures_of_an_earlier_run_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bytecode = tmp_path / "kernel.tileirbc"
    for compiler, seconds in (("tilec", 1.5), ("tileiras", 2.5)):
        (tmp_path / f"kernel.by_{compiler}.json").write_text(json.dumps({f"{compiler}_s": seconds}))
    row = KernelRow("kernel", "sm_90a", KernelRecord(bytecode, "f32", {}))
    tilegym_kernels.measure_all([row], 1)
    assert row.figures == {"tilec_s": 1.5, "tileiras_s": 2.5}
    assert "1 of 1 by_tileiras: kernel sm_90a" in capsys.readouterr().err


def test_a_run_without_records_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no test of TileGym ran for sm_90a; they need pytest and PyTorch"):
        tilegym_kernels.rows_of(tmp_path, "sm_90a")
