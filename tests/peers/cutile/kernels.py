"""All kernels of this folder by name."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import cuda.tile as ct
from cutile import addition, attention, block_scaled, experts, fft, layer_norm, matmul, transpose


def kernels_of(*modules: ModuleType) -> dict[str, Any]:
    """The kernels that modules define."""
    return {name: value for module in modules for name, value in vars(module).items() if isinstance(value, ct.kernel)}


KERNELS = kernels_of(addition, attention, block_scaled, experts, fft, layer_norm, matmul, transpose)
