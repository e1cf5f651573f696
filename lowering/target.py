"""What each target has: the table that instruction choice, buffers and limits are read from."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.errors import UsageError


@dataclass(frozen=True)
class Target:
    """A GPU architecture as the lowering sees it."""

    name: str
    matrix_unit: str
    # CUDA programming guide, technical specifications: largest dynamic shared memory of a block.
    shared_bytes: int
    # PTX ISA 9.7.16.1: columns of 32 bits by 128 lanes; 0 without tensor memory.
    tensor_memory_columns: int
    # PTX ISA 9.7.16.4: tcgen05 reads MN-major tf32 through 128-byte swizzle with 32-byte atoms, wgmma not at all.
    transposes_tf32: bool


TARGETS = {
    target.name: target
    for target in (
        Target("sm_100a", matrix_unit="tcgen05", shared_bytes=232448, tensor_memory_columns=512, transposes_tf32=True),
        Target("sm_90a", matrix_unit="wgmma", shared_bytes=232448, tensor_memory_columns=0, transposes_tf32=False),
    )
}


def target_named(name: str) -> Target:
    """The target of that name; raises UsageError that lists the known ones."""
    if name not in TARGETS:
        raise UsageError(f"unknown target '{name}': expected one of {', '.join(TARGETS)}")
    return TARGETS[name]
