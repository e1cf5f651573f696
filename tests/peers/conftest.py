"""Adds this folder, the samples of tests/bytecode, kernels of other folders and the benchmarks to the import path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / area) for area in ("peers", "bytecode", "kernels", "gpu_to_ptx", "tile")]
# Tests that others import.
sys.path.append(str(TESTS / "peers" / "assemblers"))
sys.path += [str(TESTS / "kernels" / part) for part in ("accumulators", "blocks", "convolution", "element_types")]
sys.path.append(str(TESTS.parent / "benchmarks"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Compilations of CUTLASS take up to a minute each: they start first, and other workers take over the rest."""
    items.sort(key=lambda item: not item.path.name.startswith("test_cutlass"))
