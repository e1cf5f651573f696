"""The table of targets: the features of each GPU architecture. No other code of the compiler names a target."""

from __future__ import annotations

from tilec.errors import UsageError
from tilec.frozen import Frozen, replace

# Threads per warp, WARP_SZ in PTX.
LANES = 32
# PTX ISA 9.7.16.1: columns of 32 bits by 128 lanes.
TENSOR_MEMORY_COLUMNS = 512
TENSOR_LANES = 128
# CUDA programming guide, technical specifications: the SM keeps 1 KB of shared memory for each of its blocks, so that
# it has 228 KB where one block has at most 227 KB.
RESERVED_SHARED_BYTES = 1024
# The unit in which an SM gives shared memory to blocks (cuda_occupancy.h, compute capability 8.0 and later).
_SHARED_GRANULE_BYTES = 128


class Target(Frozen):
    """The properties of a GPU architecture that the lowering depends on."""

    name: str
    # The device whose constants predict its kernels: a file of lowering/model/.
    device: str
    # Names of rows of lowering/matrix_unit.py, in order of preference: the first that supports a multiply is used.
    matrix_units: tuple[str, ...]
    # The same for multiplies with block scaling.
    scaled_matrix_units: tuple[str, ...]
    # The same for multiplies with a sparse lhs.
    sparse_matrix_units: tuple[str, ...]
    # The same for multiplies whose filters are the first operand (mode "weights" of views of images).
    weight_stationary_units: tuple[str, ...]
    # The maximum dynamic shared memory per block (CUDA programming guide, technical specifications).
    shared_bytes: int
    # 0 if the architecture has no tensor memory.
    tensor_memory_columns: int
    # The rows of a CTA in a multiply that has the full rate: with fewer, tcgen05.mma takes as long as with 128.
    multiplied_rows: int
    # Whether two CTAs of a cluster multiply together (PTX ISA 9.7.16.2.1: cta_group::2 of tcgen05.mma).
    multiplies_in_pairs: bool
    # Whether warps of a block may have different numbers of registers (PTX ISA 9.7.20.5: setmaxnreg needs sm_90a).
    moves_registers: bool
    # Whether TMA unpacks elements that share bytes (PTX ISA 9.7.9.28: ptxas rejects their codes before sm_100).
    loads_packed_elements: bool
    # Whether TMA swizzles atoms of more than 16 bytes (PTX ISA 9.7.9.28: the swizzle atomicity needs sm_100).
    swizzles_wide_atoms: bool
    # Whether TMA gathers rows by index (PTX ISA 9.7.9.27.1.2: tile::gather4 needs sm_100).
    gathers_rows: bool
    # Whether TMA scatters rows by index (PTX ISA 9.7.9.27.1.3: tile::scatter4 needs sm_100a).
    scatters_rows: bool
    # Whether TMA fills tiles of multiplies with NaN: NVIDIA does not publish its bits (hint allow_unconfirmed).
    fills_nan: bool
    # Whether TMA loads pixels along W (PTX ISA 9.7.9.27.1.2: im2col::w and im2col::w::128 need sm_100a).
    loads_along_w: bool
    # Whether TMA loads pixels after each 32 of im2col::w::128: NVIDIA does not document their rows (allow_unconfirmed).
    loads_halos: bool
    # Whether tcgen05.mma.ws clears columns: the table of PTX ISA 9.7.16.4.3 contradicts its text (allow_unconfirmed).
    clears_columns: bool
    # Whether a matrix descriptor starts at any row: no public kernel starts one off the rows after which a swizzle
    # repeats, and NVIDIA does not say how their addresses are formed (allow_unconfirmed).
    starts_at_any_row: bool
    # Whether multiplies skip rows of runs (PTX ISA 9.7.16.10.9: disable-output-lane), which changes the results of
    # infinite filters: only with hint convolution=run.
    skips_rows: bool
    # Whether cvt converts pairs of f32 to e2m1x2 and ue8m0x2 (PTX ISA 9.7.9.22: needs sm_100a).
    converts_small_floats: bool
    # Whether a block takes over others before they start (PTX ISA 9.7.13.17: clusterlaunchcontrol needs sm_100).
    claims_blocks: bool
    # Whether add, sub, mul and fma compute two f32 at once (PTX ISA 9.7.3: .f32x2 needs sm_100).
    packs_floats: bool
    # Whether max and min of f32 take three operands (PTX ISA 9.7.3.11, 9.7.3.12: needs sm_100).
    compares_three: bool
    # Whether redux.sync takes f32 (PTX ISA 9.7.13.8: needs sm_100a).
    reduces_floats_of_warp: bool

    @property
    def architecture(self) -> str:
        """The name without the suffix of architecture-specific instructions."""
        return self.name.removesuffix("a")


TARGETS = {
    target.name: target
    for target in (
        Target(
            "sm_100a",
            "B200",
            ("tcgen05", "mma.sync", "fma"),
            ("block-scaled tcgen05",),
            ("sparse tcgen05", "sparse mma.sync"),
            ("tcgen05.ws",),
            shared_bytes=232448,
            tensor_memory_columns=TENSOR_MEMORY_COLUMNS,
            multiplied_rows=TENSOR_LANES,
            multiplies_in_pairs=True,
            moves_registers=True,
            loads_packed_elements=True,
            swizzles_wide_atoms=True,
            gathers_rows=True,
            scatters_rows=True,
            fills_nan=False,
            loads_along_w=True,
            loads_halos=False,
            clears_columns=False,
            starts_at_any_row=False,
            skips_rows=True,
            converts_small_floats=True,
            claims_blocks=True,
            packs_floats=True,
            compares_three=True,
            reduces_floats_of_warp=True,
        ),
        Target(
            "sm_90a",
            "H200",
            ("wgmma", "mma.sync", "fma"),
            (),
            ("sparse wgmma", "sparse mma.sync"),
            (),
            shared_bytes=232448,
            tensor_memory_columns=0,
            multiplied_rows=64,
            multiplies_in_pairs=False,
            moves_registers=True,
            loads_packed_elements=False,
            swizzles_wide_atoms=False,
            gathers_rows=False,
            scatters_rows=False,
            fills_nan=False,
            loads_along_w=False,
            loads_halos=False,
            clears_columns=False,
            starts_at_any_row=False,
            skips_rows=False,
            converts_small_floats=False,
            claims_blocks=False,
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


def target_of_architecture(architecture: str) -> Target | None:
    """The target whose PTX runs on GPUs of an architecture, with or without a suffix as in sm_90a; None without one."""
    wanted = architecture.rstrip("af")
    return next((target for target in TARGETS.values() if target.architecture == wanted), None)


def targets_with(field: str) -> str:
    """The names of the targets of which a field of Target is true, for messages."""
    return " or ".join(target.name for target in TARGETS.values() if getattr(target, field))


def share_of_block(target: Target, blocks: int) -> Target:
    """The target with the memory of one block if `blocks` blocks share an SM."""
    shared = (target.shared_bytes + RESERVED_SHARED_BYTES) // blocks // _SHARED_GRANULE_BYTES * _SHARED_GRANULE_BYTES
    columns = target.tensor_memory_columns // blocks
    # PTX ISA 9.7.16.7.1: columns are allocated in powers of two.
    columns = 1 << (columns.bit_length() - 1) if columns else 0
    return replace(target, shared_bytes=shared - RESERVED_SHARED_BYTES, tensor_memory_columns=columns)
