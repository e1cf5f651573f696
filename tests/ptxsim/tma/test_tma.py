"""Bulk tensor copies: loads, stores and reductions of tiles, and the error that each missing step causes."""

from __future__ import annotations

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native as ptxsim

SETUP = """
.shared .align 1024 .b8 tile[2048];
.shared .align 8 .b64 full;
mov.b64 %rd20, p0;
cvta.param.u64 %rd20, %rd20;
mov.u32 %r0, %tid.x;
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r1, tile;
mov.u32 %r2, full;
@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
"""

LOAD = """
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {expected};
@%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd20, {{{column}, {row}}}], [%r2];
"""

WAIT = """
poll:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
@!%p1 bra poll;
"""

# Each of 128 threads stores its 16 bytes of the image to p1.
READ = """
shl.b32 %r3, %r0, 4;
add.u32 %r4, %r1, %r3;
ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r4];
ld.param.u64 %rd0, [p1];
cvt.u64.u32 %rd1, %r3;
add.u64 %rd2, %rd0, %rd1;
st.global.v4.b32 [%rd2], {%r10, %r11, %r12, %r13};
"""


@pytest.fixture
def matrix(aligned):
    return aligned(np.arange(40 * 64, dtype=np.uint16).reshape(40, 64))


@pytest.fixture
def tensor_map(encode_tensor_map, matrix):
    def make(array=matrix, **changes):
        fields = {"extents": (64, 40), "strides": (128,), "box": (64, 16), "swizzle": "128B"}
        return encode_tensor_map(array.ctypes.data, "u16", **{**fields, **changes})

    return make


def unswizzled(image: np.ndarray) -> np.ndarray:
    """The rows of an image with swizzle 128B whose address is a multiple of 1024."""
    units = image.reshape(16, 8, 8)
    return np.stack([units[row, np.arange(8) ^ row % 8].ravel() for row in range(16)])


@pytest.mark.parametrize("seed", range(4))
def test_loaded_tile_is_swizzled_and_padded(simulate, tensor_map, matrix, aligned, seed):
    image = aligned(np.zeros((16, 64), np.uint16))
    body = SETUP + LOAD.format(expected=2048, column=0, row=32) + WAIT + READ
    simulate(body, tensor_map(), image, block=128, map_targets=[matrix], seed=seed)
    expected = np.zeros((16, 64), np.uint16)
    expected[:8] = matrix[32:]
    np.testing.assert_array_equal(unswizzled(image), expected)


def traps_of(simulate, body, *arguments, seeds=4, **options) -> set[str]:
    """The kinds of the traps of all seeds; asserts that each seed has one."""
    kinds = set()
    for seed in range(seeds):
        with pytest.raises(ptxsim.Trap) as trap:
            simulate(body, *arguments, seed=seed, **options)
        kinds.add(trap.value.kind)
    return kinds


def load_body(expected=2048, column=0, row=0, wait=WAIT):
    return SETUP + LOAD.format(expected=expected, column=column, row=row) + wait + READ


def test_read_without_the_wait_is_a_race(simulate, tensor_map, matrix, aligned):
    image = aligned(np.zeros((16, 64), np.uint16))
    body = load_body(wait="bar.sync 0;")
    assert traps_of(simulate, body, tensor_map(), image, block=128, map_targets=[matrix]) == {"race"}


def test_too_few_expected_bytes_are_an_mbarrier_error(simulate, tensor_map, matrix, aligned):
    image = aligned(np.zeros((16, 64), np.uint16))
    for expected in (2032, 16):
        assert traps_of(simulate, load_body(expected), tensor_map(), image, block=128, map_targets=[matrix]) == {
            "mbarrier"
        }


def test_too_many_expected_bytes_are_a_deadlock(simulate, tensor_map, matrix, aligned):
    image = aligned(np.zeros((16, 64), np.uint16))
    assert traps_of(simulate, load_body(4096), tensor_map(), image, block=128, map_targets=[matrix]) == {"deadlock"}


def test_tile_outside_the_memory_ranges_is_out_of_bounds(simulate, tensor_map, matrix, aligned):
    image = aligned(np.zeros((16, 64), np.uint16))
    assert traps_of(simulate, load_body(), tensor_map(), image, block=128) == {"bounds"}


def test_invalid_map_is_reported(simulate, tensor_map, matrix, aligned):
    image = aligned(np.zeros((16, 64), np.uint16))
    with pytest.raises(ptxsim.Trap, match="at most 64 bytes with swizzle 64B") as trap:
        simulate(load_body(), tensor_map(swizzle="64B"), image, block=128, map_targets=[matrix])
    assert trap.value.kind == "descriptor"


def test_undocumented_behaviour_requires_an_option(simulate, tensor_map, matrix, aligned):
    image = aligned(np.zeros((16, 64), np.uint16))
    narrow = tensor_map(box=(32, 32))
    with pytest.raises(ptxsim.Trap, match="pitch of a box row") as trap:
        simulate(load_body(), narrow, image, block=128, map_targets=[matrix])
    assert trap.value.kind == "unconfirmed"
    simulate(load_body(), narrow, image, block=128, map_targets=[matrix], allow_unconfirmed=True)


STORE = """
shl.b32 %r3, %r0, 4;
add.u32 %r4, %r1, %r3;
mov.b32 %r10, 0x00020001;
st.shared.v4.b32 [%r4], {%r10, %r10, %r10, %r10};
fence.proxy.async.shared::cta;
bar.sync 0;
@%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd20, {0, 32}], [%r1];
@%p0 cp.async.bulk.commit_group;
@%p0 cp.async.bulk.wait_group.read 0;
"""


def test_store_drops_elements_outside_the_tensor(simulate, tensor_map, matrix):
    before = matrix.copy()
    simulate(SETUP + STORE, tensor_map(), block=128, map_targets=[matrix])
    np.testing.assert_array_equal(matrix[:32], before[:32])
    np.testing.assert_array_equal(matrix[32:], np.tile(np.array([1, 2], np.uint16), (8, 32)))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("fence.proxy.async.shared::cta;", "race"),
        ("@%p0 cp.async.bulk.wait_group.read 0;", "exit-pending"),
        ("@%p0 cp.async.bulk.commit_group;", "exit-pending"),
    ],
)
def test_missing_step_of_a_store_is_reported(simulate, tensor_map, matrix, line, kind):
    body = SETUP + STORE.replace(line, "")
    assert body != SETUP + STORE
    assert traps_of(simulate, body, tensor_map(), block=128, map_targets=[matrix]) == {kind}


def test_missing_barrier_before_a_store_is_reported(simulate, tensor_map, matrix):
    body = SETUP + STORE.replace("bar.sync 0;", "")
    # If a warp has not run yet, its part of the tile is not yet written.
    assert traps_of(simulate, body, tensor_map(), block=128, map_targets=[matrix]) <= {"race", "uninitialised"}


def test_prefetch_checks_its_map(simulate, tensor_map, matrix, aligned):
    image = aligned(np.zeros((16, 64), np.uint16))
    body = load_body().replace(
        "bar.sync 0;",
        "bar.sync 0;\n@%p0 prefetch.param.tensormap [p0];\n"
        "@%p0 cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd20, {0, 0}];",
    )
    simulate(body, tensor_map(), image, block=128, map_targets=[matrix])
    with pytest.raises(ptxsim.Trap, match="at most 64 bytes with swizzle 64B") as trap:
        simulate(body, tensor_map(swizzle="64B"), image, block=128, map_targets=[matrix])
    assert trap.value.kind == "descriptor"


def test_reduction_adds_to_the_destination(simulate, tensor_map, aligned):
    sums = aligned(np.full((16, 32), 5, np.uint32))
    to_sums = tensor_map(sums, extents=(32, 16), strides=(128,), box=(32, 16))
    as_u32 = bytes(to_sums[:8]) + bytes([to_sums[8] & 0x7F, (to_sums[9] & ~7) | 1]) + to_sums[10:]
    body = SETUP + STORE.replace("cp.async", "cp.reduce.async").replace("cta.bulk_group", "cta.add.bulk_group")
    body = body.replace("cp.reduce.async.bulk.commit", "cp.async.bulk.commit")
    body = body.replace("cp.reduce.async.bulk.wait", "cp.async.bulk.wait")
    simulate(body.replace("{0, 32}", "{0, 0}"), as_u32, block=128, map_targets=[sums])
    np.testing.assert_array_equal(sums, np.full((16, 32), 0x00020006, np.uint32))


def test_bulk_store_copies_contiguous_bytes(simulate, aligned):
    to = aligned(np.zeros(128, np.uint32))
    body = """
    .shared .align 128 .b8 line[512];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, line;
    shl.b32 %r2, %r0, 2;
    add.u32 %r2, %r1, %r2;
    st.shared.b32 [%r2], %r0;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.eq.u32 %p0, %r0, 0;
    ld.param.u64 %rd0, [p0];
    @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 512;
    @%p0 cp.async.bulk.commit_group;
    @%p0 cp.async.bulk.wait_group 0;
    """
    simulate(body, to, block=128)
    np.testing.assert_array_equal(to, np.arange(128))


# The nearest tf32 of each f32, ties to even; infinities and NaNs keep their bits.
TF32_BITS = [
    (0x3F800FFF, 0x3F800000), (0x3F801000, 0x3F800000), (0x3F801001, 0x3F802000), (0x3F803000, 0x3F804000),
    (0x3FFFF000, 0x40000000), (0xBF801800, 0xBF802000), (0x7F7FFFFF, 0x7F800000), (0x7F800000, 0x7F800000),
    (0x7F800001, 0x7F800001), (0xFFC01234, 0xFFC01234), (0x00001001, 0x00002000), (0x80000FFF, 0x80000000),
]  # fmt: skip


def test_load_through_a_tf32_map_rounds(simulate, encode_tensor_map, aligned):
    given, rounded = (np.array(column, np.uint32) for column in zip(*TF32_BITS, strict=True))
    matrix = aligned(np.resize(given, (16, 32)))
    fields = {"extents": (32, 16), "strides": (128,), "box": (32, 16), "swizzle": "none"}
    image = aligned(np.zeros((16, 32), np.uint32))
    for element, expected in (("tf32", rounded), ("f32", given)):
        encoded = encode_tensor_map(matrix.ctypes.data, element, **fields)
        simulate(load_body(), encoded, image, block=128, map_targets=[matrix])
        np.testing.assert_array_equal(image, np.resize(expected, (16, 32)))
