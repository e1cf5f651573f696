"""The rules of matrix multiplies: shapes, elements and places of their operands, by the sections of the PTX ISA."""

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.operations.kernel import kernel_around
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import TENSOR, TRANSPOSED, BufferType
from tilec.dialect.tilex.sparse_rules import GROUPS, word_elements
from tilec.dialect.verify import types_only
from tilec.element_types import ELEMENT_TYPES, element_type

# Elements of operands that tensor cores multiply without block scaling; mmaf of Tile IR has no f4E2M1FN.
KINDS = tuple(row.name for row in ELEMENT_TYPES.values() if row.mma_kind is not None and row.value_bits >= 8)
# Of them those that are multiplied by each other, and the smaller ones of packed buffers, of which tcgen05 reads 16 in
# 16 bytes (PTX ISA 9.7.16.4).
NARROW_FLOATS = tuple(name for name in KINDS if ELEMENT_TYPES[name].mma_kind == "f8f6f4")
PACKED_FLOATS = tuple(row.name for row in ELEMENT_TYPES.values() if row.mma_kind is not None and row.value_bits < 8)
_STEP_BITS = 256
# The lanes that a multiply may skip, and the words with a bit for each.
_SKIPPED_ROWS, _SKIPPED_WORDS = 128, 4
LANES_OF_WORD, WORDS_OF_PAIR = _SKIPPED_ROWS // _SKIPPED_WORDS, 2 * _SKIPPED_WORDS
# The rows of a CTA in a pair that multiplies 128.
_NARROW_ROWS = 64
# The rows whose metadata one instruction reads (PTX ISA 9.7.16.10.8.2), and the layout of metadata.
SPARSE_ROWS, METADATA = 128, "sparse_metadata"
# Rows after which every swizzle repeats: the groups of a matrix descriptor (PTX ISA 9.7.15.5.1, 9.7.16.4.1).
PATTERN_ROWS = 8
_SWIZZLED_ROWS = tuple(f"contiguous=1 swizzle={swizzle}" for swizzle in ("32B", "64B", "128B"))
# PTX ISA 9.7.16.2.1: N and M of tcgen05.mma.ws, which are the rows and columns of the accumulator.
WEIGHT_STATIONARY_ROWS, WEIGHT_STATIONARY_COLUMNS = (64, 128, 256), (32, 64, 128)
# PTX ISA 9.7.16.10.9: scale-input-d of sm_100a, and the kinds that have it.
MOST_SCALE, SCALED_MMA_KINDS = 15, ("f16", "tf32")


@types_only
def matrix_shapes(op: ir.OpView) -> str | None:
    """The problem with the shapes of accumulator, lhs and rhs, or None."""
    accumulator = tuple(op.operands[0].type.shape)
    lhs, rhs = op.lhs.type.shape, op.rhs.type.shape
    if len(lhs) != 2 or len(rhs) != 2 or lhs[1] != rhs[0] or accumulator != (_multiplied_rows(op), rhs[1]):
        return _other_shapes(op)
    return None


def _other_shapes(op: ir.OpView) -> str:
    shapes = op.lhs.type.shape, op.rhs.type.shape
    return f"expected MxK, KxN and MxN, but got {shapes[0]}, {shapes[1]} and {tuple(op.operands[0].type.shape)}"


def _multiplied_rows(op: ir.OpView) -> int:
    """The rows of lhs of which there are products: all, but of a multiply that can have `shifted` (rows_inside)."""
    rows = op.lhs.type.shape[0]
    return min(rows, op.operands[0].type.shape[0]) if hasattr(op, "shifted") else rows


def is_transposed(accumulator: ir.Value) -> bool:
    """Whether the columns of an accumulator have lanes, as those of a weight-stationary multiply."""
    return isinstance(accumulator.type, BufferType) and accumulator.type.is_transposed


def row_of_run(row: int, period: int | None, pitch: int | None) -> int:
    """The row of a run, counted from the first one that is read, from which row `row` of a product is computed."""
    return row if period is None or pitch is None else row // period * pitch + row % period


def rows_inside(op: ir.OpView) -> str | None:
    """The problem with the rows that a multiply with `shifted` reads by a matrix descriptor, or None."""
    accumulator, lhs, period, pitch = op.operands[0].type, op.lhs.type, op.period, op.pitch
    if is_transposed(op.operands[0]) or op.shifted is None:
        if period or pitch:
            return (
                f"expected shifted and an accumulator that is not transposed with every, but got {op.operands[0].type}"
            )
        return None if is_transposed(op.operands[0]) or lhs.shape[0] == accumulator.shape[0] else _other_shapes(op)
    if not isinstance(lhs, BufferType) or lhs.memory == TENSOR or lhs.layout not in _SWIZZLED_ROWS:
        found = lhs.spelled() if isinstance(lhs, BufferType) else lhs
        return (
            f"expected lhs in shared memory in the layout {' or '.join(_SWIZZLED_ROWS)} with shifted, but got {found}"
        )
    rows = accumulator.shape[0]
    least = min(rows, _SKIPPED_ROWS if isinstance(accumulator, BufferType) else _NARROW_ROWS)
    if (period is None) != (pitch is None):
        return f"expected a period with a pitch, or none of them, but got {period} by {pitch}"
    if period is not None and (
        period != PATTERN_ROWS and period % least or rows % period and period < rows or pitch < period
    ):
        expected = f"expected a period of {PATTERN_ROWS} or of a multiple of {least} rows, which divides {rows} rows"
        return f"{expected}, and no smaller pitch, but got {period} by {pitch}"
    last = op.shifted + row_of_run(rows - 1, period, pitch)
    if op.shifted < 0 or last >= lhs.shape[0]:
        return f"expected rows from 0 to {lhs.shape[0] - 1} of lhs, but got {op.shifted} to {last}"
    return None


# The shifts that an instruction descriptor allows (PTX ISA 9.7.16.4.2).
MAXIMUM_SHIFTS = (0, 8, 16, 32)


def most_shifted_rows(columns: int) -> int:
    """The greatest shift of a multiply into a transposed accumulator (PTX ISA 9.7.16.4.3)."""
    return MAXIMUM_SHIFTS[2 if columns == WEIGHT_STATIONARY_COLUMNS[0] else 3]


def weight_stationary(op: ir.OpView) -> str | None:
    """The problem with a multiply into a transposed accumulator, or None."""
    accumulator, lhs, shift = op.accumulator.type, op.lhs.type, op.shifted or 0
    if not accumulator.is_transposed:
        return None
    (rows, columns), most = accumulator.shape, most_shifted_rows(accumulator.shape[1])
    if rows not in WEIGHT_STATIONARY_ROWS or columns not in WEIGHT_STATIONARY_COLUMNS or lhs.memory == TENSOR:
        expected = "64, 128 or 256 rows by 32, 64 or 128 columns, and lhs in shared memory"
        return f"expected a transposed accumulator of {expected}, but got {accumulator.spelled()}, {lhs.spelled()}"
    if getattr(op, "pair", False):
        return "a multiply into a transposed accumulator is of one CTA"
    if not 0 <= shift <= min(lhs.shape[0] - rows, most):
        return f"expected a shift from 0 to {min(lhs.shape[0] - rows, most)}, but got {shift}"
    return None


@types_only
def sparse_shapes(op: ir.OpView) -> str | None:
    """The problem with the shapes of a multiply whose lhs has half of the elements along K, or None."""
    accumulator, metadata = tuple(op.accumulator.type.shape), op.metadata.type
    lhs, rhs, element = op.lhs.type.shape, op.rhs.type.shape, spell(op.lhs.type.element)
    if len(lhs) != 2 or len(rhs) != 2 or 2 * lhs[1] != rhs[0] or accumulator != (lhs[0], rhs[1]):
        return f"expected MxK/2, KxN and MxN, but got {lhs}, {rhs} and {accumulator}"
    if lhs[0] % SPARSE_ROWS or element not in GROUPS or lhs[1] % _step(op):
        wanted = f"blocks of {SPARSE_ROWS} rows of whole steps of a kind with sparsity"
        return f"expected {wanted}, but got {op.lhs.type.spelled()}"
    words = (lhs[0], rhs[0] // word_elements(element))
    if (tuple(metadata.shape), str(metadata.element), metadata.layout) != (words, "i32", METADATA):
        return f"expected metadata of {words} words with the layout '{METADATA}', but got {metadata.spelled()}"
    return None


def signs_of_integers(op: ir.OpView) -> str | None:
    element = str(op.rhs.type.element)
    if (op.lhs_unsigned or op.rhs_unsigned) and element != "i8":
        return f"expected operands of i8 with lhs_unsigned or rhs_unsigned, but got {element}"
    return None


def negated_floats(op: ir.OpView) -> str | None:
    """PTX ISA 9.7.15.5.2 and 9.7.16.4.2: integers have no negation."""
    element = str(op.rhs.type.element)
    return f"expected operands of floats with negated, but got {element}" if op.negated and element == "i8" else None


# The rules of a multiply with all flags of signs.
SIGNS = (signs_of_integers, negated_floats)


def elements_of_operands(op: ir.OpView) -> str | None:
    """PTX ISA 9.7.16.2.1: only narrow floats are multiplied by others of their kind."""
    lhs = str(op.lhs.type.element_type if is_register_tile(op.lhs.type) else op.lhs.type.element)
    rhs, narrow = str(op.rhs.type.element), (*NARROW_FLOATS, *PACKED_FLOATS)
    left = op.kind if getattr(op, "kind", None) in PACKED_FLOATS else lhs
    right = getattr(op, "rhs_kind", None) or rhs
    if left != right and not {left, right} <= set(narrow):
        return f"expected operands of one element, or of {' or '.join(NARROW_FLOATS)}, but got {left} and {right}"
    return packed_problem(op.lhs, left) or packed_problem(op.rhs, right)


def packed_problem(operand: ir.Value, kind: str | None) -> str | None:
    """A buffer is packed if and only if its elements are of a packed kind, with as many bits."""
    type = operand.type
    found = type.packed_bits if isinstance(type, BufferType) else None
    wanted = ELEMENT_TYPES[kind].value_bits if kind in PACKED_FLOATS else None
    if found == wanted:
        return None
    expected = (
        f"a buffer of i8 with packed={wanted} for {kind}" if wanted else f"a buffer that is not packed for {kind}"
    )
    return f"expected {expected}, but got {type.spelled() if isinstance(type, BufferType) else type}"


def rhs_kind(op: ir.OpView) -> str:
    """The element of the rhs of a multiply whose `kind` is that of the lhs."""
    rhs = str(op.rhs.type.element)
    return getattr(op, "rhs_kind", None) or (rhs if rhs in NARROW_FLOATS else op.kind)


def _is_packed_beside(lhs: str, accumulator: str) -> bool:
    """Whether the layout of an operand has the lanes of that of an accumulator; its columns may be in pieces."""
    packed = f"{accumulator} packed"
    return lhs == packed or lhs.startswith(f"{packed} pieces=")


@types_only
def places_of_operands(op: ir.OpView) -> str | None:
    """Operand A in tensor memory is packed and has the lanes of the accumulator, which is not packed."""
    lhs, accumulator = op.lhs.type, op.accumulator.type
    if accumulator.is_in_halves and lhs.memory == TENSOR:
        return f"expected lhs in shared memory for an accumulator in halves, but got {lhs.spelled()}"
    if accumulator.is_packed:
        return f"expected an accumulator with one element per cell, but got {accumulator.spelled()}"
    if lhs.memory == TENSOR and not _is_packed_beside(lhs.layout, accumulator.layout):
        return f"expected lhs in tensor memory with the layout '{accumulator.layout} packed', but got {lhs.spelled()}"
    return None


def skipped_rows(op: ir.OpView) -> str | None:
    """PTX ISA 9.7.16.10.9 and 9.7.16.4.3: a bit for each of the 128 lanes of a CTA, or a zero-column mask."""
    words, accumulator = len(op.skipped), op.accumulator.type
    if accumulator.is_transposed:
        return None if words in (0, 2) else f"expected 2 words of skipped rows for {TRANSPOSED}, but got {words}"
    rows, is_pair = accumulator.shape[0], bool(getattr(op, "pair", False))
    # Multiplies that may become those of a pair have the words of both CTAs.
    are_of_pair = (words, rows) == (WORDS_OF_PAIR, _SKIPPED_ROWS)
    if words and not are_of_pair and (is_pair or rows % _SKIPPED_ROWS or words * LANES_OF_WORD != rows):
        expected = f"{_SKIPPED_WORDS} words of skipped rows for each {_SKIPPED_ROWS} rows of one CTA or of a pair"
        return f"expected {expected}, but got {words} for {accumulator.spelled()}"
    return None


def scaled_accumulator(op: ir.OpView) -> str | None:
    """PTX ISA 9.7.16.10.9: scale-input-d, which tcgen05.mma.ws does not have."""
    if op.scale is None:
        return None
    accumulator = op.accumulator.type
    element = accumulator.element if isinstance(accumulator, BufferType) else accumulator.element_type
    is_transposed = isinstance(accumulator, BufferType) and accumulator.is_transposed
    if element_type(op.kind).mma_kind not in SCALED_MMA_KINDS or str(element) != "f32" or is_transposed:
        expected = "expected operands of f16, bf16 or tf32 and an accumulator of f32, not transposed, with scale"
        return f"{expected}, but got {op.kind}, {accumulator.spelled() if is_transposed else element}"
    return None if 1 <= op.scale <= MOST_SCALE else f"expected a scale from 1 to {MOST_SCALE}, but got {op.scale}"


def moved_rows(op: ir.OpView) -> str | None:
    """PTX ISA 9.7.16.10.9: .ashift moves an operand A in tensor memory, of 128 rows of one CTA."""
    lhs, is_part = op.lhs.type, getattr(op, "first", None) is not None
    if not op.ashift or lhs.memory == TENSOR and lhs.shape[0] == _SKIPPED_ROWS and not is_part:
        return "a multiply of a pair moves no rows" if op.ashift and getattr(op, "pair", False) else None
    return f"expected all of {_SKIPPED_ROWS} rows of lhs in tensor memory with ashift, but got {lhs.spelled()}"


def _step(op: ir.OpView) -> int:
    """PTX ISA 9.7.16.2.1: one instruction multiplies 32 bytes along K."""
    return _STEP_BITS // element_type(spell(op.lhs.type.element)).storage_bits


def part_of_depth(op: ir.OpView) -> str | None:
    """A part of the elements along K is of whole instructions."""
    if (op.first is None) != (op.depth is None):
        return "expected first and depth, or none of them"
    if op.first is None:
        return None
    whole, step = op.lhs.type.shape[1], _step(op)
    if op.first < 0 or op.depth <= 0 or op.first + op.depth > whole or op.first % step or op.depth % step:
        return f"expected a part of the {whole} elements along K in steps of {step}, but got {op.depth} from {op.first}"
    return None


@types_only
def whole_steps(op: ir.OpView) -> str | None:
    element, step = op.lhs.type.element, _step(op)
    if op.lhs.type.shape[1] % step:
        return f"expected a multiple of {step} elements of {element} along K, but got {op.lhs.type.shape[1]}"
    return None


def pair_shapes(op: ir.OpView, least_rows: int = _NARROW_ROWS) -> str | None:
    """The problem with the shapes of a multiply, of one CTA or of a pair, or None."""
    if op.accumulator.type.is_in_halves != (bool(op.pair) and op.accumulator.type.shape[0] == _NARROW_ROWS):
        return f"expected halves of 64 rows for a pair alone, but got {op.accumulator.type.spelled()}"
    if not op.pair:
        return matrix_shapes(op)
    if kernel_around(op).ctas == 1:
        return "a multiply of a pair needs a kernel with a cluster"
    accumulator = tuple(op.accumulator.type.shape)
    lhs, rhs = op.lhs.type.shape, op.rhs.type.shape
    if len(lhs) != 2 or len(rhs) != 2 or lhs[1] != rhs[0] or accumulator != (_multiplied_rows(op), 2 * rhs[1]):
        return f"expected MxK, KxN/2 and MxN for a pair, but got {lhs}, {rhs} and {accumulator}"
    # PTX ISA 9.7.16.2.1, table 39: M of 128 or 256, N of 32 to 256 in steps of 32, which all kinds have.
    rows, columns = accumulator
    if rows % 128 and rows != least_rows or columns % 32 or columns > 256:
        least = "blocks of 128 rows" if least_rows % 128 == 0 else f"{least_rows} rows or blocks of 128"
        return f"expected {least} by up to 256 columns, a multiple of 32, but got {accumulator}"
    return None


def promoted_types(op: ir.OpView) -> str | None:
    kind, accumulator = op.kind, str(op.accumulator.type.element_type)
    if len(op.factors) and not (op.promote and accumulator == "f32"):
        found = f"{'promote' if op.promote else 'none'} and {accumulator}"
        return f"expected promote and an accumulator of f32 for factors, but got {found}"
    if op.promote and not len(op.factors) and (element_type(kind).mma_kind, accumulator) != ("f8f6f4", "f32"):
        return (
            f"expected promote with operands of 8-bit floats and an accumulator of f32, but got {kind}, {accumulator}"
        )
    return None


@types_only
def shapes_with_metadata(op: ir.OpView) -> str | None:
    """The problem with the shapes of a multiply whose lhs may be sparse, with metadata in registers, or None."""
    if op.metadata is None:
        return matrix_shapes(op)
    lhs, rhs, element, metadata = op.lhs.type, op.rhs.type.shape, spell(op.rhs.type.element), op.metadata.type
    if tuple(op.accumulator.type.shape) != (lhs.shape[0], rhs[1]) or 2 * lhs.shape[1] != rhs[0]:
        return f"expected MxK/2, KxN and MxN, but got {tuple(lhs.shape)}, {rhs} and {op.accumulator.type}"
    if is_register_tile(lhs) or element not in GROUPS:
        return f"expected a kind with sparsity and lhs in shared memory, but got {element}, {lhs}"
    words = [lhs.shape[0], rhs[0] // word_elements(element)]
    if (list(metadata.shape), str(metadata.element_type)) != (words, "i32"):
        return f"expected metadata of {words} words of i32, but got {metadata}"
    return None
