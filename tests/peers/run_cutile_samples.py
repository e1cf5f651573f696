"""Runs the kernels of NVIDIA's samples for cuTile Python in the interpreter and prints their errors and bounds.

    python tests/peers/run_cutile_samples.py FOLDER [--version 13.4] [--simulate sm_100a]
    python -m tilec.compat tests/peers/run_cutile_samples.py FOLDER ...

FOLDER is the folder `samples` of a checkout of github.com/NVIDIA/cutile-python. Neither a GPU nor torch is needed: the
names that the samples import from torch are replaced by empty classes. `--simulate` also compiles the kernels for a
target and runs them in its simulator, if tilec supports them. The first command traces the kernels with cuTile, the
second with tilec.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cutile.bounded import Comparison  # noqa: E402
from cutile.cases import CASES, FIRST_VERSION, case_name  # noqa: E402
from cutile.launcher import Launcher  # noqa: E402

from tilec.errors import SimulationError, TilecError  # noqa: E402

# Names of kernels in this folder, and the kernel of the samples with the same arguments.
SAMPLES = {
    "add": ("VectorAddition", "vec_add_kernel_1d"),
    "add_gathered": ("VectorAddition", "vec_add_kernel_1d_gather"),
    "add_matrices": ("VectorAddition", "vec_add_kernel_2d"),
    "add_matrices_gathered": ("VectorAddition", "vec_add_kernel_2d_gather"),
    "transpose": ("Transpose", "transpose_kernel"),
    "matmul": ("MatMul", "matmul_kernel"),
    "persistent_matmul": ("MatMul", "persistent_matmul_kernel"),
    "batch_matmul": ("BatchMatMul", "batch_matmul_kernel"),
    "gathered_matmul": ("AllGatherMatmul", "gather_matmul_kernel"),
    "attention": ("AttentionFMHA", "fmha_kernel"),
    "layer_norm": ("LayerNorm", "layer_norm_fwd"),
    "layer_norm_gradient": ("LayerNorm", "layer_norm_bwd_dx_partial_dwdb"),
    "layer_norm_weights": ("LayerNorm", "layer_norm_bwd_dwdb"),
    "fft": ("FFT", "fft_kernel"),
    "expert_matmul": ("MoE", "fused_moe_kernel"),
    "gate": ("MoE", "silu_and_mul_kernel"),
    "block_scaled_matmul": ("BlockScaledMatMul", "block_scaled_matmul_kernel"),
}
# The versions that cuTile 1.7.0 can write.
VERSIONS = ("13.1", "13.2", "13.3", "13.4")
TORCH = (
    "torch", "torch.nn", "torch.nn.functional", "torch.nn.attention", "torch.autograd", "torch.distributed",
    "torch.distributed._symmetric_memory", "torch.multiprocessing",
)  # fmt: skip


class EmptyModule(ModuleType):
    """A module in which every name is an empty class, sufficient for annotations and base classes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, type(name, (), {}))
        return getattr(self, name)


def install_empty_torch() -> None:
    """Replaces torch and its submodules with empty modules if torch is not installed."""
    if importlib.util.find_spec("torch") is not None:
        return
    for name in TORCH:
        sys.modules[name] = EmptyModule(name)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, sys.modules[name])


class Kernels(Mapping[str, Any]):
    """The kernels of the samples in a folder by the names in SAMPLES; files are loaded on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        sys.path.insert(0, str(folder))

    def __getitem__(self, name: str) -> Any:
        file, kernel = SAMPLES[name]
        return getattr(_load(self._folder / f"{file}.py"), kernel)

    def __iter__(self) -> Iterator[str]:
        return iter(SAMPLES)

    def __len__(self) -> int:
        return len(SAMPLES)


@cache
def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"sample_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # cuTile looks up the globals of a kernel in its module.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def comparisons(case: Any, kernels: Kernels, version: str) -> list[tuple[Comparison, str]]:
    """The comparisons of a case, with a note if the case depends on undefined behaviour."""
    remark = "undefined elements read as zero"
    try:
        checked = list(case(Launcher(kernels, version)))
        if all(np.isfinite(comparison.error) for comparison in checked):
            return [(comparison, "") for comparison in checked]
    except SimulationError as error:
        remark = f"without checks, which report: {error.message}"
    return [(comparison, remark) for comparison in case(Launcher(kernels, version, check=False))]


def simulator_results(case: Any, kernels: Kernels, version: str, target: str) -> Iterator[str]:
    """A line for each result of a case in the simulator, or for its error."""
    try:
        for comparison in case(Launcher(kernels, version, target=target)):
            yield f"{_verdict(comparison)}, {target}: {comparison}"
    except TilecError as error:
        yield f"{type(error).__name__}, {target}: {error.message}"


def _verdict(comparison: Comparison) -> str:
    return "correct" if comparison.ratio <= 1 else "WRONG"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", default="13.4", choices=VERSIONS, help="version of the bytecode")
    parser.add_argument("--topic", choices=CASES, action="append")
    parser.add_argument("--simulate", metavar="TARGET", action="append", default=[], help="also compile and simulate")
    arguments = parser.parse_args()
    if not any(arguments.folder.glob("*.py")):
        parser.error(f"{arguments.folder} contains no samples: expected Python files such as VectorAddition.py")
    install_empty_torch()
    kernels, wrong = Kernels(arguments.folder), 0
    for topic in arguments.topic or CASES:
        if arguments.version < FIRST_VERSION.get(topic, arguments.version):
            continue
        print(topic)
        for case in CASES[topic]:
            print(f"  {case_name(case)}")
            for comparison, remark in comparisons(case, kernels, arguments.version):
                wrong += comparison.ratio > 1
                print(f"    {_verdict(comparison)}: {comparison}{', ' * bool(remark)}{remark}", flush=True)
            for target in arguments.simulate:
                for line in simulator_results(case, kernels, arguments.version, target):
                    print(f"    {line}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
