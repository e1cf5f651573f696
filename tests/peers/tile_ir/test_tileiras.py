"""The kernel of the compile time benchmark compiles with tilec and with NVIDIA's cuTile and tileiras."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "compile_time.py"


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_benchmark_prints_compile_times_of_both_compilers(target: str) -> None:
    command = [sys.executable, str(BENCHMARK), "--repeats", "1", "--target", target]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles[0].startswith(f"f16 matmul, tile 128,128,64, {target}")
    assert [title.split() for title in titles[1:3]] == [[name, "median", "shortest"] for name in ("tilec", "tileiras")]
    stages = [line.split()[0] for line in lines if line.startswith("  ")]
    assert stages[:7] == ["tile", "tile-opt", "gpu-raw", "gpu", "ptx-mlir", "ptx", "cubin"]
    assert "tileiras" in stages
