"""Table of targets: matrix unit, memory sizes and limits."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.errors import UsageError

# Threads of a warp, which PTX calls WARP_SZ.
LANES = 32
# PTX ISA 9.7.16.1: columns of 32 bits by 128 lanes.
TENSOR_MEMORY_COLUMNS = 512


@dataclass(frozen=True)
class Target:
    """A GPU architecture as the lowering sees it."""

    name: str
    # Rows of lowering/matrix_unit.py: the first that can do a multiply does it.
    matrix_units: tuple[str, ...]
    # CUDA programming guide, technical specifications: largest dynamic shared memory of a block.
    shared_bytes: int
    # 0 without tensor memory.
    tensor_memory_columns: int


TARGETS = {
    target.name: target
    for target in (
        Target("sm_100a", ("tcgen05", "fma"), shared_bytes=232448, tensor_memory_columns=TENSOR_MEMORY_COLUMNS),
        Target("sm_90a", ("wgmma", "fma"), shared_bytes=232448, tensor_memory_columns=0),
    )
}


def target_named(name: str) -> Target:
    """The target of that name; raises UsageError that lists the known ones."""
    if name not in TARGETS:
        raise UsageError(f"unknown target '{name}': expected one of {', '.join(TARGETS)}")
    return TARGETS[name]
