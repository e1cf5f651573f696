"""Which parameter sets of TileGym's tests run in the simulator, and with which sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Extents above the limit become the smallest one above the base that has the same remainder, so that they remain
# multiples of the same powers of two up to 64.
MOST_EXTENT, BASE, REMAINDER_OF = 512, 256, 64
# The most parameter sets per test.
MOST_SETS = 4

# Sizes of tests whose shrunk sizes contradict each other or take minutes: part of the name of the test -> parameters.
SIZES: Mapping[str, Mapping[str, Any]] = {
    "test_mhc.py::Test_MHC::test_op_mhc_apply_residual": {"m": 4, "n": 2, "c": 1024},
    "test_sparse_mla.py::Test_SparseMLA::test_op_basic": {"S": 3, "S_kv": 96},
    "test_sparse_mla.py::Test_SparseMLA::test_op_gqa": {"S": 3, "S_kv": 96},
    "test_flashinfer_masked_bmm.py": {"num_groups": 3, "max_m": 160, "expected_m_per_group": 64, "n": 192, "k": 136},
    "test_rope_quantize_fp8.py": {"num_tokens": 3, "num_qo_heads": 4, "head_size": 576, "base": 10000},
    "Test_FlashInfer_PrefillPaged": {"num_batch": 1, "s_kv": 200},
    "Test_FlashInfer_PrefillRagged": {"num_batch": 2, "s_kv": 200},
    "Test_FlashInfer_DecodePaged": {"num_batch": 2, "s_kv": 256},
    "Test_FlashInfer_MLADecodePaged": {"num_batch": 2, "s_kv": 256},
    "test_matmul.py::Test_Matmul::test_op": {"m": 200, "n": 328, "k": 264},
    "test_attention.py::Test_FMHA::test_op": {"num_heads": 2, "seq_len": 200},
    "test_bmm.py::Test_BMM_FWD::test_op": {"batch_size": 2, "m": 200, "n": 136, "k": 136},
    "test_mla_decoding_split_kv.py": {"seq_len": 300, "kv_len_per_split": 128},
    "test_moe.py::Test_MOE::test_op": {"hidden_size": 256, "moe_intermediate_size": 128, "n_experts": 4},
    "test_splitk_reduce.py": {"batch_size": 2, "num_heads": 16, "num_kv_splits": 8},
    "test_rms_norm.py::Test_RMSNorm::test_op": {"m": 20},
    "test_group_gemm.py": {"group_m": [200, 72], "group_n": [136, 264], "group_k": [136, 200]},
    "test_attention_sink.py::Test_AttentionSink": {"batch_size": 1, "num_key_value_heads": 2},
}


def shrunk(value: Any) -> Any:
    """A parameter with each extent above the limit replaced by a smaller one."""
    if type(value) in (tuple, list):
        return type(value)(map(shrunk, value))
    if isinstance(value, bool) or not isinstance(value, int) or value <= MOST_EXTENT:
        return value
    return BASE + value % REMAINDER_OF


def parameters_of(test: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with which a test runs."""
    found = {name: shrunk(value) for name, value in parameters.items()}
    for part, sizes in SIZES.items():
        if part in test:
            found.update(sizes)
    return found


def chosen(sets: Sequence[dict[str, Any]], most: int = MOST_SETS) -> list[int]:
    """The parameter sets that run: the first, then each with a new pair of values of parameters that are not sizes.

    They are ordered by the number of sizes that are not multiples of 16, which keep accesses from TMA, then by size.
    """
    order = sorted(range(len(sets)), key=lambda index: (odd_sizes(sets[index]), elements(sets[index])))
    seen: set[tuple[tuple[str, str], ...]] = set()
    found: list[int] = []
    for index in order:
        options = set(itertools.combinations_with_replacement(options_of(sets[index]), 2))
        if len(found) < most and (not found or options - seen):
            found.append(index)
            seen |= options
    return found


def options_of(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The parameters that are not sizes, such as element types and flags."""
    for name, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, (int, tuple, list)):
            yield name, repr(value)


def elements(parameters: Mapping[str, Any]) -> int:
    """The product of all sizes in the parameters."""
    return math.prod(max(abs(size), 1) for size in _sizes(tuple(parameters.values())))


def odd_sizes(parameters: Mapping[str, Any]) -> int:
    """The number of sizes above 8 that are not multiples of 16."""
    return sum(size > 8 and size % 16 != 0 for size in _sizes(tuple(parameters.values())))


def _sizes(value: Any) -> Iterator[int]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _sizes(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield value
