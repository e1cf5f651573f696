"""The K loops of matmul's PTX contain only TMA copies, barriers and tensor core instructions."""

from __future__ import annotations

import re

import matrix_kernels
import pytest

import tilec

SIGNATURE = "A: f16[?,?], B: f16[?,?], C: f16[?,?%8], tm=128, tn=128, tk=64"
# On sm_90a adjacent tile blocks would load half of an operand each (test_joined_programs.py).
ALONE = {"multicast": False}


@pytest.fixture
def instructions(target) -> list[str]:
    """Labels and instructions, one per element, without comments and guard predicates."""
    ptx = tilec.compile(matrix_kernels.matmul, target=target, signature=SIGNATURE, hints=ALONE, stop="ptx").ptx
    body = re.sub(r"//.*", "", ptx.partition("\n{\n")[2])
    joined = re.sub(r"(?<![;:{])\n\s+", " ", body)
    return [re.sub(r"^@!?%p\d+ ", "", line.strip()) for line in joined.splitlines() if line.strip()]


def loops(instructions: list[str]) -> list[list[str]]:
    """The instructions from each label to the last branch back to it."""
    found = []
    for start, line in enumerate(instructions):
        if line.endswith(":"):
            back = [i for i, other in enumerate(instructions) if i > start and other.endswith(f" {line[:-1]};")]
            if back:
                found.append(instructions[start : back[-1] + 1])
    return found


def test_no_generic_access(instructions):
    accesses = [line for line in instructions if re.match(r"(ld|st|stmatrix)\.", line)]
    assert accesses
    assert all(re.match(r"(ld|st)\.(global|shared|param)|stmatrix\..*\.shared", line) for line in accesses)


def test_k_loops_only_copy_and_multiply(instructions, target):
    multiply = "tcgen05.mma" if target == "sm_100a" else "wgmma.mma_async"
    inner = [loop for loop in loops(instructions) if any(line.startswith((multiply, "cp.async.bulk")) for line in loop)]
    assert any(line.startswith(multiply) for loop in inner for line in loop)
    assert any(line.startswith("cp.async.bulk.tensor.2d.shared::cta.global") for loop in inner for line in loop)
    assert not [line for loop in inner for line in loop if re.match(r"(ld|st|bar|mov\.f32)\b", line)]


def test_operands_are_swizzled_and_prefetched(target):
    record = tilec.compile(matrix_kernels.matmul, target=target, signature=SIGNATURE, hints=ALONE).metadata
    assert [map.swizzle for map in record.tensor_maps] == ["128B"] * 3
    assert [tuple(map.box) for map in record.tensor_maps] == [(64, 128), (64, 64), (64, 128)]
    # Four slots of A and B, and the staging buffer of a slice of C.
    assert record.shared_bytes > (4 * (128 * 64 + 64 * 128) + 128 * 64) * 2
