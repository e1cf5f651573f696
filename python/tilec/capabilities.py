"""The private names of cuTile Python that programs use, NVIDIA's samples and TileGym among them.

By some of them programs ask what they can run. The others are public names that programs import from the private module
that defines them. `tilec.compat` offers both in the modules of cuTile. All other private names have no counterpart.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import tilec
from tilec import options
from tilec.lowering.target import target_named


class BytecodeVersion(IntEnum):
    """The versions of Tile IR bytecode, ordered by age."""

    V_13_1 = 130100
    V_13_2 = 130200
    V_13_3 = 130300
    V_13_4 = 130400
    V_13_5 = 130500

    def major(self) -> int:
        """13 of 13.4."""
        return self.value // 10000

    def minor(self) -> int:
        """4 of 13.4."""
        return self.value // 100 % 100

    def tag(self) -> int:
        """The third number, 0 in all versions."""
        return self.value % 100

    def as_string(self) -> str:
        """The version as text, such as 13.4."""
        return f"{self.major()}.{self.minor()}"


def get_compute_capability(device_id: int | None = None) -> tuple[int, int]:
    """The compute capability of a GPU, the first by default; of the target `TILEC_TARGET` if kernels run on the host.

    Kernels run on the host without a GPU, or if `TILEC_BACKEND` says so.
    """
    settings = options.from_environment()
    if settings.backend in (None, "launch"):
        from tilec.runtime.devices.devices import devices

        found = devices()
        if found:
            return found[device_id or 0].capability
    number = target_named(settings.target).name.removeprefix("sm_").rstrip("af")
    return int(number[:-1]), int(number[-1])


def dev_features_enabled() -> bool:
    """Whether versions in development are enabled: tilec has none."""
    return False


def newest_bytecode_version(temp_dir: str, allow_dev: bool = False) -> BytecodeVersion:
    """The newest version of bytecode that tilec compiles; the arguments have no effect."""
    return max(BytecodeVersion)


# Private module -> the modules of tilec whose public names it has.
_PUBLIC_NAMES = {
    "_datatype": ("tilec.language.datatypes",),
    "_exception": ("tilec.errors",),
    "_execution": ("tilec.language.kernel",),
    "_memory_model": ("tilec.language.modes",),
    "_numeric_semantics": ("tilec.language.modes",),
    # All functions of kernels.
    "_stub": tuple(f"tilec.language.operations.{group}" for group in (
        "arith", "atomic", "bitwise", "comparison", "control", "convert", "debug", "grid_dependency", "math", "memory",
        "mma", "reduce", "scan", "shape", "view",
    )),
}  # fmt: skip


def _public_names(*modules: str) -> dict[str, Any]:
    return {name: getattr(tilec, name) for name, module in tilec._DEFINED_IN.items() if module in modules}


# The names by module, relative to `cuda.tile`.
MODULES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "_cext": {"get_compute_capability": get_compute_capability, "dev_features_enabled": dev_features_enabled},
        "_bytecode": {"BytecodeVersion": BytecodeVersion},
        "_bytecode.version": {"BytecodeVersion": BytecodeVersion},
        "_compile": {"_get_max_supported_bytecode_version": newest_bytecode_version},
        **{private: _public_names(*modules) for private, modules in _PUBLIC_NAMES.items()},
    }
)
