"""mma.sp of a warp: which elements along K the metadata in registers keeps, and the metadata that is refused.

The registers of metadata are those of PTX ISA 9.7.14.6.2, as CUTLASS reorders it (`ELayout` of 16x8x64, and the host
function for 16-bit elements of earlier devices).
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from sparse_operands import first_pairs_with_infinity, kept_of, operands

from tilec.runtime.ptxsim import _native as ptxsim

LANES = np.arange(32)
ROWS, COLUMNS = 16, 8


@dataclass(frozen=True)
class Kind:
    """The types of A and B, the elements of A, B and D, and whether two threads of four have the metadata."""

    operands: str
    a: type
    b: type
    halves: bool = False
    result: type = np.float32

    @property
    def types(self) -> str:
        sums = {np.int32: "s32", np.float16: "f16", np.float32: "f32"}[self.result]
        return f"{sums}.{self.operands}.{sums}"


E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
KINDS = {
    "f16": Kind("f16.f16", np.float16, np.float16, True),
    "f16 in f16": Kind("f16.f16", np.float16, np.float16, True, np.float16),
    "bf16": Kind("bf16.bf16", ml_dtypes.bfloat16, ml_dtypes.bfloat16, True),
    "tf32": Kind("tf32.tf32", np.float32, np.float32, True),
    "e4m3": Kind("e4m3.e4m3", E4M3, E4M3),
    "e5m2": Kind("e5m2.e5m2", E5M2, E5M2),
    "e4m3 by e5m2": Kind("e4m3.e5m2", E4M3, E5M2),
    "s8": Kind("s8.s8", np.int8, np.int8, result=np.int32),
    "u8": Kind("u8.u8", np.uint8, np.uint8, result=np.int32),
    "u8 by s8": Kind("u8.s8", np.uint8, np.int8, result=np.int32),
}


def registers_of(codes: np.ndarray, kind: Kind, selector: int) -> np.ndarray:
    """The register of each thread; those of threads that have no metadata are illegal."""
    registers = np.zeros(32, np.uint32)
    for row in range(ROWS):
        for group, code in enumerate(codes[row].tolist()):
            quad = 4 * (row % 8)
            if kind.halves:
                registers[quad + 2 * selector + group // 4] |= np.uint32(code << 4 * (group % 4) + 16 * (row // 8))
            else:
                registers[quad + row // 8 + 2 * (group // 8)] |= np.uint32(code << 4 * (group % 8))
    return registers


def words(matrix: np.ndarray) -> np.ndarray:
    """The 32-bit words of each row."""
    return np.ascontiguousarray(matrix).view(np.uint32)


def body(kind: Kind, selector: int, instruction: str) -> str:
    """Loads the registers of A, B, C and metadata of each lane from p0 to p3, and stores D to p4."""
    packed = kind.result is np.float16
    result = "b32" if packed or kind.result is np.int32 else "f32"
    sums = 2 if packed else 4
    lines = [f".reg .b32 a<4>, b<4>, e<1>; .reg .{result} c<4>, d<4>;", "mov.u32 %r0, %tid.x;"]
    groups = [("a", "b32", 4), ("b", "b32", 4), ("c", result, sums), ("e", "b32", 1), ("d", result, sums)]
    for number, (name, type, count) in enumerate(groups):
        lines += [f"ld.param.u64 %rd{number}, [p{number}];", f"mul.wide.u32 %rd9, %r0, {4 * count};"]
        lines += [f"add.u64 %rd{number}, %rd{number}, %rd9;"]
        if name != "d":
            lines += [f"ld.global.{type} {name}{i}, [%rd{number}+{4 * i}];" for i in range(count)]
    lists = ["{" + ", ".join(f"{name}{i}" for i in range(count)) + "}" for name, _, count in groups]
    lines += [f"{instruction} {lists[4]}, {', '.join(lists[:3])}, e0, {selector};"]
    lines += [f"st.global.{result} [%rd4+{4 * i}], d{i};" for i in range(sums)]
    return "\n".join(lines)


@pytest.fixture
def multiply(simulate):
    """Runs one instruction; C is zero."""

    def run(kind: Kind, a, b, registers, selector: int = 0, form: str = "sp::ordered_metadata") -> np.ndarray:
        row, column = LANES // 4, LANES % 4
        left = np.stack([words(a)[row + 8 * (i % 2), column + 4 * (i // 2)] for i in range(4)], 1)
        right = np.stack([words(b)[row, column + 4 * i] for i in range(4)], 1)
        found = np.zeros((32, 2, 2), kind.result)
        instruction = f"mma.{form}.sync.aligned.m16n8k{2 * kept_of(kind.a)}.row.col.{kind.types}"
        text, zeros = body(kind, selector, instruction), np.zeros((32, 2, 2), kind.result)
        simulate(text, left, right, zeros.view(np.uint32), registers, found.view(np.uint32), target="sm_90a")
        product = np.zeros((ROWS, COLUMNS), kind.result)
        for half in range(2):
            product[row[:, None] + 8 * half, 2 * column[:, None] + np.arange(2)] = found[:, half]
        return product

    return run


def operands_of(kind: Kind, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Kept elements of A, their nibbles, the dense A, and B by columns."""
    kept, codes, dense, _ = operands(kind.a, ROWS, COLUMNS, seed)
    return kept, codes, dense, operands(kind.b, ROWS, COLUMNS, seed)[3]


@pytest.mark.parametrize("name", KINDS)
def test_product_of_kept_elements(multiply, name: str) -> None:
    kind = KINDS[name]
    for selector in (0, 1) if kind.halves else (0,):
        kept, codes, dense, b = operands_of(kind, selector)
        found = multiply(kind, kept, b, registers_of(codes, kind, selector), selector)
        np.testing.assert_array_equal(found, dense @ b.astype(np.int64).T)


def test_elements_that_are_not_kept_do_not_count(multiply) -> None:
    """B is infinite where A keeps no element; 0 * infinity must not be computed."""
    kind = KINDS["f16"]
    kept, codes, exact, b = first_pairs_with_infinity(ROWS, COLUMNS)
    np.testing.assert_array_equal(multiply(kind, kept, b, registers_of(codes, kind, 0)), exact)


@pytest.mark.parametrize("code", [0b0000, 0b0001, 0b0101, 0b0110, 0b1010, 0b1111])
@pytest.mark.parametrize("name", ["f16", "s8"])
def test_pairs_that_do_not_ascend_are_reported(multiply, name: str, code: int) -> None:
    kind = KINDS[name]
    kept, codes, _, b = operands_of(kind, 0)
    codes[13, 5] = code
    with pytest.raises(ptxsim.Trap, match=f"two ascending indices, as 0b0100, got {code:#06b} for row 13, group 5"):
        multiply(kind, kept, b, registers_of(codes, kind, 0))


def test_a_pair_of_tf32_is_reported(multiply) -> None:
    kind = KINDS["tf32"]
    kept, codes, _, b = operands_of(kind, 0)
    codes[5, 2] = 0b1100
    with pytest.raises(ptxsim.Trap, match="expected metadata of 0b0100 or 0b1110, got 0b1100 for row 5, group 2"):
        multiply(kind, kept, b, registers_of(codes, kind, 0))


def test_the_selector_names_the_threads_that_have_the_metadata(multiply) -> None:
    kind = KINDS["f16"]
    kept, codes, _, b = operands_of(kind, 0)
    with pytest.raises(ptxsim.Trap, match="got 0b0000 for row 0, group 0"):
        multiply(kind, kept, b, registers_of(codes, kind, 1), 0)


@pytest.mark.parametrize(("name", "selector"), [("f16", 2), ("s8", 1), ("e4m3", 1)])
def test_selectors_that_do_not_exist_are_refused(multiply, name: str, selector: int) -> None:
    kind = KINDS[name]
    kept, codes, _, b = operands_of(kind, 0)
    with pytest.raises(ptxsim.PtxError, match="expected a sparsity selector of 0, or of 1 with 16-bit and tf32"):
        multiply(kind, kept, b, registers_of(codes, kind, 0), selector)


def test_metadata_of_any_order_is_not_supported(multiply) -> None:
    kind = KINDS["f16"]
    kept, codes, _, b = operands_of(kind, 0)
    with pytest.raises(ptxsim.Trap, match="the simulator does not support mma.sp.sync.aligned.m16n8k32"):
        multiply(kind, kept, b, registers_of(codes, kind, 0), form="sp")
