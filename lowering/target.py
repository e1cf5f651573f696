"""The table of targets: matrix units and memory sizes."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.errors import UsageError

# Threads per warp, WARP_SZ in PTX.
LANES = 32
# PTX ISA 9.7.16.1: columns of 32 bits by 128 lanes.
TENSOR_MEMORY_COLUMNS = 512
TENSOR_LANES = 128


@dataclass(frozen=True)
class Target:
    """The properties of a GPU architecture that the lowering depends on."""

    name: str
    # Names of rows of lowering/matrix_unit.py, in order of preference: the first that supports a multiply is used.
    matrix_units: tuple[str, ...]
    # The same for multiplies with block scaling.
    scaled_matrix_units: tuple[str, ...]
    # The maximum dynamic shared memory per block (CUDA programming guide, technical specifications).
    shared_bytes: int
    # 0 if the architecture has no tensor memory.
    tensor_memory_columns: int
    # Whether TMA gathers rows by index (PTX ISA 9.7.9.27.1.2: tile::gather4 needs sm_100).
    gathers_rows: bool
    # Whether TMA loads pixels along W (PTX ISA 9.7.9.27.1.2: im2col::w and im2col::w::128 need sm_100a).
    loads_along_w: bool
    # Whether cvt converts pairs of f32 to e2m1x2 and ue8m0x2 (PTX ISA 9.7.9.22: needs sm_100a).
    converts_small_floats: bool
    # Whether add, sub, mul and fma compute two f32 at once (PTX ISA 9.7.3: .f32x2 needs sm_100).
    packs_floats: bool
    # Whether max and min of f32 take three operands (PTX ISA 9.7.3.11, 9.7.3.12: needs sm_100).
    compares_three: bool
    # Whether redux.sync takes f32 (PTX ISA 9.7.13.8: needs sm_100a).
    reduces_floats_of_warp: bool


TARGETS = {
    target.name: target
    for target in (
        Target(
            "sm_100a",
            ("tcgen05", "mma.sync", "fma"),
            ("block-scaled tcgen05",),
            shared_bytes=232448,
            tensor_memory_columns=TENSOR_MEMORY_COLUMNS,
            gathers_rows=True,
            loads_along_w=True,
            converts_small_floats=True,
            packs_floats=True,
            compares_three=True,
            reduces_floats_of_warp=True,
        ),
        Target(
            "sm_90a",
            ("wgmma", "mma.sync", "fma"),
            (),
            shared_bytes=232448,
            tensor_memory_columns=0,
            gathers_rows=False,
            loads_along_w=False,
            converts_small_floats=False,
            packs_floats=False,
            compares_three=False,
            reduces_floats_of_warp=False,
        ),
    )
}


def target_named(name: str) -> Target:
    """The target with this name; raises UsageError for an unknown name."""
    if name not in TARGETS:
        raise UsageError(f"unknown target '{name}': expected one of {', '.join(TARGETS)}")
    return TARGETS[name]
