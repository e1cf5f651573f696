"""The units that multiply matrices, one row each: operands, accumulator, limits and shared-memory descriptors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilec.dialect.tile_gpu.matrix_rules import WEIGHT_STATIONARY_COLUMNS, WEIGHT_STATIONARY_ROWS
from tilec.dialect.tile_gpu.operations.channel import MMA, THREADS, WGMMA
from tilec.dialect.tile_gpu.operations.scaled import SCALED_KINDS
from tilec.element_types import element_type
from tilec.lowering.layout.blocked import rectangles
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.mma_sync import FRAGMENT_ROWS, least_depth, mma_sync_accumulator, sparse_metadata
from tilec.lowering.layout.tensor_layout import TensorLayout, tensor_memory_16x256b, tensor_memory_32x32b
from tilec.lowering.layout.wgmma import groups_along_columns, wgmma_accumulator, wgmma_metadata, wgmma_operand
from tilec.lowering.target import TENSOR_LANES, TENSOR_MEMORY_COLUMNS, Target

# One tensor core instruction reads 32 bytes of each row (PTX ISA 9.7.16.2.1 and 9.7.15.2).
STEP_BYTES = 32
# Largest N of one instruction (PTX ISA 9.7.16.2.1 and 9.7.15.2).
MAXIMUM_COLUMNS = 256
# The smallest N of tcgen05 that tilec uses with 128 rows.
TCGEN05_LEAST_COLUMNS = 16
WARPS_OF_A_GROUP = 4
# The 16-bit elements of a row of the widest swizzle (PTX ISA 5.5.7).
_PANEL_COLUMNS = 64
# The products along K that are summed before the sum is added to the accumulator in f32, as by NVIDIA's tileiras 13.5.
PROMOTED_ELEMENTS = 128

Shape = Sequence[int]


@dataclass(frozen=True)
class MnMajor:
    """How an operand lies that is contiguous along M or N: its swizzle (None: any), the fewest bytes of a row."""

    swizzle: str | None = None
    least_row_bytes: int = STEP_BYTES


@dataclass(frozen=True)
class DescriptorFormat:
    """The 64-bit matrix descriptor: codes of the swizzles, where they stand, and bits that are always set."""

    swizzles: Mapping[str, int]
    swizzle_shift: int
    constant_bits: int = 0


@dataclass(frozen=True)
class MatrixTypes:
    """The types of a multiply: elements of the operands in shared memory, signs of integers, the accumulator's element.

    `element` is that of lhs, and of rhs too if there is no `rhs_element`; both have the same number of bits.
    `fast` allows sums of 8-bit floats with fewer bits than the accumulator has. With block scaling, `scaled_elements`
    elements along K share a factor of type `scale`.
    """

    element: str
    accumulator: str
    lhs_unsigned: bool = False
    rhs_unsigned: bool = False
    fast: bool = False
    scale: str | None = None
    scaled_elements: int = 0
    rhs_element: str | None = None
    # Whether lhs has half of the elements along K, and metadata (dialect/tilex).
    is_sparse: bool = False

    @property
    def elements(self) -> tuple[str, str]:
        """The elements of lhs and rhs."""
        return self.element, self.rhs_element or self.element

    def row_bytes(self, elements: int) -> int:
        """Bytes of a number of elements of an operand in shared memory."""
        return elements * element_type(self.element).storage_bits // 8

    def __str__(self) -> str:
        factors = f" with a factor of {self.scale} per {self.scaled_elements}" if self.scale is not None else ""
        sparse = " with a sparse lhs" if self.is_sparse else ""
        operands = " by ".join(dict.fromkeys(self.elements))
        return f"{operands}{factors}{sparse} with an accumulator of {self.accumulator}"


@dataclass(frozen=True, eq=False)
class MatrixUnit:
    """A unit. `refusal(rows, columns, warps)` is the reason why it cannot make such an accumulator, or None."""

    name: str
    # The elements of accumulators by that of operands. A unit multiplies signed and unsigned integers, also mixed.
    accumulators: Mapping[str, Sequence[str]]
    # The bytes along K that one instruction reads, by element; the extent of an operand is a positive multiple.
    step_bytes: Callable[[str], int]
    # Operands contiguous along M or N, by element; where an element is missing, only K-major is legal.
    mn_major: Mapping[str, MnMajor]
    # By shape, number of warps, element of the operands.
    accumulator_layout: Callable[[Shape, int, str], LinearLayout]
    refusal: Callable[[int, int, int], str | None]
    # The layout if lhs is contiguous along M, by shape and number of warps; None: the same.
    layout_beside_rows: Callable[[Shape, int], LinearLayout] | None = None
    # The consumer of the channels that hold the operands.
    consumer: str = THREADS
    accumulates_in_tensor_memory: bool = False
    # Whether rhs is the first operand of the instruction, so that the columns of an accumulator have lanes.
    is_weight_stationary: bool = False
    # Registers of one thread that an instruction needs at once, by rows, columns and warps; 0: no more than any other.
    instruction_registers: Callable[[int, int, int], int] = lambda rows, columns, warps: 0
    # Whether an instruction may negate products, so that TMA loads an operand that the kernel negates.
    negates: bool = False
    # Whether operands from registers are swizzled; those that TMA loads always are.
    swizzles_operands: bool = True
    descriptor: DescriptorFormat | None = None
    # Elements whose sums in f32 have fewer bits than f32.
    short_sums: frozenset[str] = frozenset()
    # The layout of the metadata of a sparse lhs in registers, by words of a row, layout of the accumulator and warps.
    # None: in tensor memory.
    metadata_layout: Callable[[int, LinearLayout, int], LinearLayout] | None = None
    # The layout of an lhs in registers, by shape, number of warps, element; None: both operands are in shared memory.
    lhs_layout: Callable[[Shape, int, str], LinearLayout] | None = None

    def promotes(self, types: MatrixTypes) -> bool:
        """Whether the unit's sums are too short for these types, so that they are added to the accumulator in f32."""
        return not self.short_sums.isdisjoint(types.elements) and types.accumulator == "f32" and not types.fast

    def operand_refusal(self, types: MatrixTypes, depth: int) -> str | None:
        """The reason why the unit cannot multiply `depth` elements of these types, or None."""
        element = types.element
        for each in types.elements:
            if each not in self.accumulators:
                return f"{self.name} has no {each} operands"
            assert types.accumulator in self.accumulators[each], types
        step = self.step_bytes(element)
        if types.row_bytes(depth) % step:
            return f"{self.name} reads {step} bytes along K, the operands have {depth} elements of {element}"
        return None


def _tcgen05_refusal(rows: int, columns: int, warps: int) -> str | None:
    if rows != 64 and rows % 128:
        return f"tcgen05 needs 64 or a multiple of 128 rows, the accumulator has {rows}"
    least = TCGEN05_LEAST_COLUMNS if rows != 64 else 8 * (warps // WARPS_OF_A_GROUP)
    if not least <= columns <= MAXIMUM_COLUMNS:
        return f"tcgen05 needs {least} to {MAXIMUM_COLUMNS} columns, the accumulator has {columns}"
    if columns * max(1, rows // 128) > TENSOR_MEMORY_COLUMNS:
        return (
            f"an accumulator of {rows}x{columns} needs more than the {TENSOR_MEMORY_COLUMNS} columns of tensor memory"
        )
    return None


def _scaled_refusal(rows: int, columns: int, warps: int) -> str | None:
    # PTX ISA 9.7.16.2.1: M is 128.
    if rows % 128:
        return f"block-scaled tcgen05 needs a multiple of 128 rows, the accumulator has {rows}"
    return _tcgen05_refusal(rows, columns, warps)


def _sparse_refusal(rows: int, columns: int, warps: int) -> str | None:
    # PTX ISA 9.7.16.10.8.2: the layout of metadata in tensor memory of 128 rows.
    if rows % 128:
        return f"sparse tcgen05 needs a multiple of 128 rows, the accumulator has {rows}"
    return _tcgen05_refusal(rows, columns, warps)


def _weight_stationary_refusal(rows: int, columns: int, warps: int) -> str | None:
    if rows in WEIGHT_STATIONARY_ROWS and columns in WEIGHT_STATIONARY_COLUMNS:
        return None
    return f"tcgen05.mma.ws needs 64, 128 or 256 pixels and 32, 64 or 128 filters, the tile has {rows} and {columns}"


def _wgmma_refusal(rows: int, columns: int, warps: int) -> str | None:
    if rows % 64:
        return f"wgmma needs a multiple of 64 rows, the accumulator has {rows}"
    groups = groups_along_columns(rows, warps)
    # The columns of a warpgroup start at a panel of an rhs that is contiguous along N.
    least, most = 8 if groups == 1 else groups * _PANEL_COLUMNS, groups * MAXIMUM_COLUMNS
    if not least <= columns <= most:
        return f"wgmma by {warps} warps needs {least} to {most} columns, the accumulator has {rows}x{columns}"
    return None


def _sparse_wgmma_refusal(rows: int, columns: int, warps: int) -> str | None:
    if groups_along_columns(rows, warps) > 1:
        return f"sparse wgmma by {warps} warps needs a multiple of {16 * warps} rows, the accumulator has {rows}"
    return _wgmma_refusal(rows, columns, warps)


def _mma_sync_step_bytes(element: str) -> int:
    element_bytes = element_type(element).storage_bytes
    return least_depth(element_bytes) * element_bytes


def _mma_sync_refusal(rows: int, columns: int, warps: int) -> str | None:
    if max(rows, columns) < FRAGMENT_ROWS:
        return f"mma.sync needs {FRAGMENT_ROWS} rows or columns, the accumulator has {rows}x{columns}"
    return None


def _sparse_mma_sync_refusal(rows: int, columns: int, warps: int) -> str | None:
    # The sparse operand is the left one, so that fewer rows cannot be columns.
    if rows < FRAGMENT_ROWS:
        return f"sparse mma.sync needs {FRAGMENT_ROWS} rows, the accumulator has {rows}"
    return None


_HALVES = {"f16": MnMajor(), "bf16": MnMajor()}
_BYTES = {"f8E4M3FN": MnMajor(), "f8E5M2": MnMajor(), "i8": MnMajor()}
# PTX ISA 9.7.16.2.1 and 9.7.15.2: kinds of tcgen05.mma and shapes of wgmma, by operand and accumulator.
_TENSOR_CORE_ACCUMULATORS = {
    "f16": ("f16", "f32"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "f8E4M3FN": ("f16", "f32"),
    "f8E5M2": ("f16", "f32"),
    "i8": ("i32",),
}
_MMA_SYNC_ACCUMULATORS = {**_TENSOR_CORE_ACCUMULATORS, "f64": ("f64",)}
_FMA_ACCUMULATORS = {**_MMA_SYNC_ACCUMULATORS, "f32": ("f32",)}

# PTX ISA 9.7.16.4.1: swizzle in bits 63:61, and 0b001 in bits 48:46.
TCGEN05_DESCRIPTOR = DescriptorFormat({"none": 0, "128B_atom_32B": 1, "128B": 2, "64B": 4, "32B": 6}, 61, 1 << 46)
# PTX ISA 9.7.15.5.1: swizzle in bits 63:62.
WGMMA_DESCRIPTOR = DescriptorFormat({"none": 0, "128B": 1, "64B": 2, "32B": 3}, 62)

_TCGEN05 = MatrixUnit(
    "tcgen05",
    accumulators=_TENSOR_CORE_ACCUMULATORS,
    step_bytes=lambda element: STEP_BYTES,
    # PTX ISA 9.7.16.4: MN-major tf32 exists with 32-byte atoms of the 128-byte swizzle only.
    mn_major={**_HALVES, **_BYTES, "tf32": MnMajor("128B_atom_32B", least_row_bytes=128)},
    consumer=MMA,
    accumulates_in_tensor_memory=True,
    accumulator_layout=lambda shape, warps, element: (
        tensor_memory_16x256b(shape, warps) if shape[0] == 64 else tensor_memory_32x32b(shape, warps)
    ),
    refusal=_tcgen05_refusal,
    negates=True,
    descriptor=TCGEN05_DESCRIPTOR,
)
# PTX ISA 9.7.16.2.1: 4-bit operands are K-major.
_TCGEN05_SCALED = replace(
    _TCGEN05,
    name="block-scaled tcgen05",
    accumulators={element: ("f32",) for element, _, _ in SCALED_KINDS},
    mn_major={"f8E4M3FN": MnMajor(), "f8E5M2": MnMajor()},
    refusal=_scaled_refusal,
    negates=False,
)
_TCGEN05_SPARSE = replace(_TCGEN05, name="sparse tcgen05", refusal=_sparse_refusal, negates=False)
_TCGEN05_WS = replace(
    _TCGEN05,
    name="tcgen05.ws",
    is_weight_stationary=True,
    accumulator_layout=lambda shape, warps, element: TensorLayout(
        tuple(shape), 4, TENSOR_LANES, transposed=True
    ).registers(warps),
    refusal=_weight_stationary_refusal,
    negates=False,
)
_WGMMA = MatrixUnit(
    "wgmma",
    accumulators=_TENSOR_CORE_ACCUMULATORS,
    step_bytes=lambda element: STEP_BYTES,
    # PTX ISA 9.7.15.7.2: only 16-bit operands have a transpose bit.
    mn_major=_HALVES,
    consumer=WGMMA,
    accumulator_layout=lambda shape, warps, element: wgmma_accumulator(shape, warps),
    refusal=_wgmma_refusal,
    # The accumulator of a thread (N / 2 registers), and 26 that ptxas 13.5 asks for beside 128 of them (message C7602).
    instruction_registers=lambda rows, columns, warps: columns // groups_along_columns(rows, warps) // 2 + 26,
    negates=True,
    descriptor=WGMMA_DESCRIPTOR,
    # Measured on H100: 13 fraction bits (arXiv 2511.10909); PTX does not specify it.
    short_sums=frozenset({"f8E4M3FN", "f8E5M2"}),
    lhs_layout=lambda shape, warps, element: wgmma_operand(shape, warps, element_type(element).storage_bytes),
)
_WGMMA_SPARSE = replace(
    _WGMMA,
    name="sparse wgmma",
    refusal=_sparse_wgmma_refusal,
    lhs_layout=None,
    metadata_layout=lambda words, accumulator, warps: wgmma_metadata((accumulator.shape[0], words), warps),
)
_MMA_SYNC = MatrixUnit(
    "mma.sync",
    accumulators=_MMA_SYNC_ACCUMULATORS,
    step_bytes=_mma_sync_step_bytes,
    # PTX ISA 9.7.14.5.15: ldmatrix transposes rows of 16 bytes. Elements of more than 16 bits are loaded one by one.
    mn_major={element: MnMajor(least_row_bytes=16) for element in _MMA_SYNC_ACCUMULATORS},
    accumulator_layout=lambda shape, warps, element: mma_sync_accumulator(
        shape, warps, element_type(element).storage_bytes
    ),
    refusal=_mma_sync_refusal,
)
# PTX ISA 9.7.14.6: the instructions of 64 bytes along K, which are the only ones of 8-bit floats.
_MMA_SYNC_SPARSE = replace(
    _MMA_SYNC,
    name="sparse mma.sync",
    accumulators=_TENSOR_CORE_ACCUMULATORS,
    step_bytes=lambda element: STEP_BYTES,
    refusal=_sparse_mma_sync_refusal,
    metadata_layout=lambda words, accumulator, warps: sparse_metadata(words, accumulator),
)
_FMA = MatrixUnit(
    "fma",
    accumulators=_FMA_ACCUMULATORS,
    step_bytes=lambda element: 1,
    mn_major={element: MnMajor(least_row_bytes=0) for element in _FMA_ACCUMULATORS},
    accumulator_layout=lambda shape, warps, element: rectangles(shape, warps),
    layout_beside_rows=lambda shape, warps: rectangles(shape, warps, (4, 4)),
    refusal=lambda rows, columns, warps: None,
    swizzles_operands=False,
)
UNITS = {
    unit.name: unit
    for unit in (
        _TCGEN05, _TCGEN05_SCALED, _TCGEN05_SPARSE, _TCGEN05_WS, _WGMMA, _WGMMA_SPARSE, _MMA_SYNC, _MMA_SYNC_SPARSE,
        _FMA,
    )
}  # fmt: skip


def accumulates_in_registers(target: Target) -> bool:
    """Whether the accumulators of every unit of a target are in the registers of the threads that compute."""
    return not any(UNITS[name].accumulates_in_tensor_memory for name in target.matrix_units)
