"""benchmarks/tilegym_kernels.py does not add records to those of an earlier run, whose figures would be kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tilegym_kernels


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
