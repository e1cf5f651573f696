"""tcgen05.mma with .ashift: A in tensor memory moves by one lane after the multiply, for the next tap of a window."""

from __future__ import annotations

import numpy as np
import pytest
from tensor_operations import placed, program

from tilec.runtime.ptxsim import _native as ptxsim

LANES = np.arange(128)
COLUMNS = 8
AT_A = 32  # the column of A
# f32 or s32 results, A and B K-major, M 128 and N 8; the codes of the types.
INSTRUCTION = {"tf32": 0x08000910 | 1 << 17, "f16": 0x08000010 | 1 << 17, "i8": 0x080004A0 | 1 << 17}
TYPES = {"tf32": np.float32, "f16": np.float16, "i8": np.int8}
# Row r of the operand after one shift: the last row of each 32 stays.
SHIFTED = np.where(LANES % 32 == 31, LANES, LANES + 1)


def kept_lanes(lanes: np.ndarray) -> str:
    """Four mask registers, in which the bit of each other lane is 1."""
    words = [sum(1 << int(lane) % 32 for lane in range(32 * word, 32 * word + 32) if lane not in lanes)
             for word in range(4)]  # fmt: skip
    moves = "".join(f"mov.b32 %r{20 + word}, {value:#x};\n" for word, value in enumerate(words))
    return moves


MASK = "{%r20, %r21, %r22, %r23}, "


@pytest.fixture
def run(simulate, aligned):
    """Performs operations on A in columns 32 to 39, which thread 0 has copied; B is descriptor 1 and following."""

    def run(kind: str, a: np.ndarray, bs: list[np.ndarray], operations: str, **options) -> np.ndarray:
        image, offsets, descriptors = placed(a, *bs)
        prologue = f"add.u32 %r30, %r14, {AT_A};\nmov.b32 %r15, {INSTRUCTION[kind]:#x};\n"
        prologue += "tcgen05.cp.cta_group::1.128x256b [%r30], %rd10;\n"
        body = program(image.size, descriptors, offsets, prologue + operations, COLUMNS, clear=True)
        got = np.zeros((128, COLUMNS), np.int32 if kind == "i8" else np.float32)
        simulate(body, aligned(image), got, block=128, **options)
        return got

    return run


def multiply(kind: str, b: int, *, modifiers: str = ".ashift", mask: str = "", accumulate: str = "%p3") -> str:
    return f"tcgen05.mma.cta_group::1.kind::{kind}{modifiers} [%r14], [%r30], %rd{10 + b}, %r15, {mask}{accumulate};\n"


def numbers(kind: str, rows: int, seed: int) -> np.ndarray:
    """Small integers, 32 bytes a row."""
    depth = 32 // np.dtype(TYPES[kind]).itemsize
    return np.random.default_rng(seed).integers(-4, 5, (rows, depth)).astype(TYPES[kind])


@pytest.mark.parametrize("kind", TYPES)
def test_the_multiply_uses_rows_before_the_shift_and_the_next_one_after_it(run, kind):
    """Each row of A is its number: the second multiply has the sums of the next rows."""
    depth = 32 // np.dtype(TYPES[kind]).itemsize
    a = np.repeat((LANES % 50)[:, None], depth, 1).astype(TYPES[kind])
    b = np.eye(8, depth).astype(TYPES[kind])
    first = run(kind, a, [b], multiply(kind, 1))
    np.testing.assert_array_equal(first, np.repeat((LANES % 50)[:, None], 8, 1))
    second = run(kind, a, [b], multiply(kind, 1) + multiply(kind, 1, modifiers=""))
    np.testing.assert_array_equal(second, np.repeat((SHIFTED % 50)[:, None], 8, 1))


@pytest.mark.parametrize("seed", range(3))
def test_four_multiplies_of_groups_of_four_rows(run, seed):
    """D[4q] is the sum over g of A[4q + g] * B_g: three shifts, and a mask that keeps each fourth lane."""
    a, bs = numbers("tf32", 128, seed), [numbers("tf32", 8, 10 * seed + g) for g in range(1, 5)]
    operations = kept_lanes(LANES[::4])
    for g in range(4):
        modifiers, accumulate = "" if g == 3 else ".ashift", "%p4" if g else "%p3"
        operations += multiply("tf32", 1 + g, modifiers=modifiers, mask=MASK, accumulate=accumulate)
    expected = np.zeros((128, 8), np.float32)
    for q in range(32):
        expected[4 * q] = sum(a[4 * q + g] @ bs[g].T for g in range(4))
    np.testing.assert_array_equal(run("tf32", a, bs, operations), expected)


@pytest.mark.parametrize("usage", ["lastuse", "discard"])
def test_collector_usages(run, usage):
    """A use of the collector follows a fill, which .ashift cannot have."""
    a, b = numbers("f16", 128, 1), numbers("f16", 8, 2)
    operations = multiply("f16", 1, modifiers=".collector::a::fill")
    operations += multiply("f16", 1, modifiers=f".ashift.collector::a::{usage}") + multiply("f16", 1, modifiers="")
    np.testing.assert_array_equal(run("f16", a, [b], operations), (a[SHIFTED] @ b.T).astype(np.float32))


# Rows of four lanes, 31, 63, 95 and 127, as a window of two taps refreshes them.
REFRESH = "add.u32 %r31, %r30, 0x1f0000;\ntcgen05.cp.cta_group::1.4x256b [%r31], %rd12;\n"
COMMIT_AND_WAIT = """tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r5];
shifted:
mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r5], 0;
@!%p6 bra shifted;
"""


def refreshed(a: np.ndarray, rows: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of A after one shift, with new rows in the last lane of each 32."""
    shifted = a[SHIFTED].copy()
    shifted[31::32] = rows[:4]
    return (shifted.astype(np.float32) @ b.astype(np.float32).T).astype(np.float32)


@pytest.mark.parametrize("shift", ["ashift", "shift"])
def test_the_last_lane_of_each_32_is_refreshed(run, shift):
    """PTX ISA 9.7.16.6 orders the copy after tcgen05.shift; after .ashift it needs a commit and a wait."""
    a, b, rows = numbers("f16", 128, 1), numbers("f16", 8, 2), numbers("f16", 8, 3)
    first = multiply("f16", 1, modifiers=".ashift" if shift == "ashift" else "")
    first += COMMIT_AND_WAIT if shift == "ashift" else "tcgen05.shift.cta_group::1.down [%r30];\n"
    got = run("f16", a, [b, rows], first + REFRESH + multiply("f16", 1, modifiers=""))
    np.testing.assert_array_equal(got, refreshed(a, rows, b))


def test_a_copy_after_ashift_without_a_wait_is_unconfirmed(run):
    a, b, rows = numbers("f16", 128, 1), numbers("f16", 8, 2), numbers("f16", 8, 3)
    operations = multiply("f16", 1) + REFRESH + multiply("f16", 1, modifiers="")
    with pytest.raises(ptxsim.Trap, match="tcgen05.cp to an operand that .ashift moves, without") as trap:
        run("f16", a, [b, rows], operations)
    assert trap.value.kind == "unconfirmed"
    got = run("f16", a, [b, rows], operations, allow_unconfirmed=True)
    np.testing.assert_array_equal(got, refreshed(a, rows, b))
    # A copy to other columns is not concerned.
    elsewhere = operations.replace("%r30, 0x1f0000", f"%r30, {(31 << 16) + 8}")
    assert run("f16", a, [b, rows], elsewhere).any()


def test_metadata_of_a_sparse_a_stays(run):
    """The first multiply keeps elements 0 and 1 of each four in even rows, 2 and 3 in odd ones; so does the second."""
    kept = np.random.default_rng(4).integers(1, 5, (128, 16)).astype(np.float16)
    b = np.random.default_rng(5).integers(1, 5, (8, 32)).astype(np.float16)
    # Lane l has 16 bits of row l % 8 of its sixteen rows, and 16 of row l % 8 + 8: both even or both odd.
    cells = np.zeros((128, 4), np.uint32)
    cells[:, 0] = np.where(LANES % 2 == 0, 0x44444444, 0xEEEEEEEE)
    prologue = f"add.u32 %r31, %r14, {AT_A + 16};\ntcgen05.cp.cta_group::1.128x128b [%r31], %rd12;\n"
    prologue += f"mov.b32 %r15, {INSTRUCTION['f16'] | 1 << 2:#x};\n"
    product = "tcgen05.mma.sp.cta_group::1.kind::f16{} [%r14], [%r30], %rd11, [%r31], %r15, %p3;\n"
    operations = prologue + product.format(".ashift") + product.format("")
    got = run("f16", kept, [b, cells], operations, allow_unconfirmed=True)
    expected = np.zeros((128, 8), np.float32)
    for row in range(128):
        columns = [4 * group + 2 * (row % 2) + index for group in range(8) for index in range(2)]
        expected[row] = kept[SHIFTED[row]].astype(np.float32) @ b[:, columns].astype(np.float32).T
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(ptxsim.Trap, match="the metadata of a sparse A that .ashift moves") as trap:
        run("f16", kept, [b, cells], operations)
    assert trap.value.kind == "unconfirmed"


def test_ashift_of_64_rows_is_refused(run):
    a, b = numbers("f16", 128, 1), numbers("f16", 8, 2)
    operations = "mov.b32 %r15, 0x04020010;\n" + multiply("f16", 1)
    with pytest.raises(ptxsim.Trap, match="expected M 128 or 256 with .ashift, got 64") as trap:
        run("f16", a, [b], operations)
    assert trap.value.kind == "descriptor"


def scaled(a: np.ndarray, b: np.ndarray) -> str:
    return multiply("f16", 1, modifiers="") + multiply("f16", 1, modifiers="", accumulate="%p4, 3")


def test_scale_input_d_multiplies_the_addend(run):
    """D = A * B + D * 2**-3."""
    a, b = numbers("f16", 128, 1), numbers("f16", 8, 2)
    product = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_array_equal(run("f16", a, [b], scaled(a, b)), product + product / 8)


def test_a_subnormal_addend_of_scale_input_d_is_unconfirmed(run):
    """The addend is 2**-24 as f16, and 2**-27 is not representable."""
    a, b = np.zeros((128, 16), np.float16), np.zeros((8, 16), np.float16)
    a[5, 0], b[:, 0] = 2.0**-12, 2.0**-12
    half = f"mov.b32 %r15, {INSTRUCTION['f16'] & ~0x10:#x};\n"  # D is f16
    with pytest.raises(ptxsim.Trap, match="scale-input-d that makes an element of D subnormal") as trap:
        run("f16", a, [b], half + scaled(a, b))
    assert trap.value.kind == "unconfirmed"
    # The same addend is a normal number as f32.
    np.testing.assert_array_equal(run("f16", a, [b], scaled(a, b))[5], 2.0**-24 + 2.0**-27)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_subnormal_addend_that_does_not_change_the_sum(run, sign):
    """Row 5 adds a subnormal f16 to sums of 2**-12 at least, of which f16 has no bits for it; row 6 has no addend."""
    a, b = np.zeros((128, 16), np.float16), np.zeros((8, 16), np.float16)
    a[5, 0], b[:, 0] = sign * 2.0**-12, 2.0**-11
    half = f"mov.b32 %r15, {INSTRUCTION['f16'] & ~0x10:#x};\n"  # D is f16
    a[5, 1], a[6, 1], b[:, 1] = 1, 1, 0
    larger = b.copy()
    larger[:, 1] = 1
    operations = multiply("f16", 1, modifiers="") + multiply("f16", 2, modifiers="", accumulate="%p4, 3")
    found = run("f16", a, [b, larger], half + operations).view(np.uint32).astype(np.uint16).view(np.float16)
    assert (found[5] == 1).all() and (found[6] == 1).all()
    # The same addend beside a sum that has bits for it.
    a[5, 1] = 2.0**-9
    with pytest.raises(ptxsim.Trap, match="scale-input-d that makes an element of D subnormal"):
        run("f16", a, [b, larger], half + operations)


def usage(action: str, b: int, address: str = "%r30") -> str:
    suffix = f".collector::a::{action}" if action else ""
    return (
        f"tcgen05.mma.cta_group::1.kind::f16{suffix} [%r14], [{address}], %rd{10 + b}, %r15, %p{4 if b > 1 else 3};\n"
    )


@pytest.mark.parametrize(
    "actions",
    [("fill", "lastuse"), ("fill", "use", "use", "lastuse"), ("fill", "use", "fill", "use"), ("fill", "", "discard")],
    ids=" ".join,
)
def test_multiplies_that_keep_their_operand(run, actions):
    a, bs = numbers("f16", 128, 1), [numbers("f16", 8, n) for n in range(2, 2 + len(actions))]
    operations = "".join(usage(action, 1 + n) for n, action in enumerate(actions))
    expected = sum(a.astype(np.float32) @ b.T.astype(np.float32) for b in bs)
    np.testing.assert_array_equal(run("f16", a, bs, operations), expected)


@pytest.mark.parametrize(
    "actions",
    [
        ("use",),
        ("lastuse",),
        ("discard", "use"),
        ("fill", "discard", "use"),
        ("fill", "", "use"),
        ("fill", "lastuse", "use"),
        ("fill", "use", "lastuse", "lastuse"),
    ],
    ids=" ".join,
)
def test_a_use_needs_a_fill_that_is_not_discarded(run, actions):
    """A multiply without a usage discards what a collector has."""
    a, bs = numbers("f16", 128, 1), [numbers("f16", 8, n) for n in range(2, 2 + len(actions))]
    operations = "".join(usage(action, 1 + n) for n, action in enumerate(actions))
    with pytest.raises(ptxsim.Trap, match="expected a fill of collector a before its use, without a discard") as trap:
        run("f16", a, bs, operations)
    assert trap.value.kind == "illegal"


def test_a_use_needs_the_same_matrix(run):
    """The matrix at another address, and one that has changed since the fill."""
    a, b = numbers("f16", 128, 1), numbers("f16", 8, 2)
    another = "add.u32 %r31, %r14, 64;\ntcgen05.cp.cta_group::1.128x256b [%r31], %rd10;\n"
    changed = usage("fill", 1) + multiply("f16", 1, modifiers=".ashift.collector::a::lastuse") + usage("fill", 1)
    changed += "tcgen05.shift.cta_group::1.down [%r30];\n"
    for operations in (another + usage("fill", 1) + usage("use", 1, "%r31"), changed + usage("use", 1)):
        with pytest.raises(ptxsim.Trap, match="expected the matrix that filled collector a, got another one"):
            run("f16", a, [b], operations)
