"""The share of the memory of an SM that each of several blocks gets."""

from __future__ import annotations

import pytest

from tilec.lowering.target import TARGETS, share_of_block

# CUDA programming guide, technical specifications of compute capability 9.0 and 10.0, in bytes.
SHARED_BYTES_OF_AN_SM = 228 * 1024
RESERVED_FOR_EACH_BLOCK = 1024


@pytest.mark.parametrize("blocks", range(1, 33))
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_shares_of_all_blocks_fit_in_an_sm(target, blocks):
    share = share_of_block(target, blocks)
    unused = SHARED_BYTES_OF_AN_SM - blocks * (share.shared_bytes + RESERVED_FOR_EACH_BLOCK)
    # Shared memory is allocated in units of 128 bytes.
    assert 0 <= unused < blocks * 128
    assert (share.shared_bytes + RESERVED_FOR_EACH_BLOCK) % 128 == 0
    assert blocks * share.tensor_memory_columns <= target.tensor_memory_columns


@pytest.mark.parametrize(("blocks", "columns"), [(1, 512), (2, 256), (3, 128), (4, 128), (5, 64), (16, 32)])
def test_columns_are_allocated_in_powers_of_two(blocks, columns):
    assert share_of_block(TARGETS["sm_100a"], blocks).tensor_memory_columns == columns
