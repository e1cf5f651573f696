"""The report on the plan of a kernel: each choice with its reason, and the candidate that would be next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cost_kernels
import pytest

import tilec as ct
from tilec.errors import UsageError
from tilec.explain.reports import reports_of

PRODUCT = "A: f16[?,?], B: f16[?,?], C: f16[?,?], TM={}, TN={}, TK=64"
ATTENTION = "Q: f16[?,128], K: f16[?,128], V: f16[?,128], out: f16[?,128], TM=128, TN=128, D=128"
OPERANDS = """\
    left operand: TMA to shared memory, swizzle 128B
    right operand: TMA to shared memory, swizzle 128B"""


@ct.kernel
def add(x, y, z, N: ct.Constant[int]):
    i = (ct.bid(0),)
    ct.store(z, i, ct.load(x, i, (N,)) + ct.load(y, i, (N,)))


def plan(kernel: Any, signature: str, target: str) -> str:
    return ct.compile(kernel, signature=signature, target=target, stop="gpu-raw").explain("plan")


def test_product_in_tensor_memory() -> None:
    assert (
        plan(cost_kernels.matmul, PRODUCT.format(128, 128), "sm_100a")
        == f"""\
plan of matmul on sm_100a
  CTAs per tile block: 1; a pair multiplies 256 rows in a loop, and 32 to 256 columns
  warps that compute: 4; values that are live at once need 93 registers per thread of 248; runner-up: 8
  columns of tensor memory: 128 of 512; each value has columns of its own
  cost_kernels.py:15: multiply 128x128x64 of f16 with an accumulator of f32: tcgen05; runner-up: mma.sync
    accumulator: 128 columns of tensor memory
{OPERANDS}
  cost_kernels.py:16: store 128x64 of f16, 2 times: TMA, swizzle 128B"""
    )


def test_product_in_registers() -> None:
    """A thread holds its part of the accumulator: four warps would spill."""
    assert (
        plan(cost_kernels.matmul, PRODUCT.format(128, 256), "sm_90a")
        == f"""\
plan of matmul on sm_90a
  CTAs per tile block: 1; CTAs of sm_90a do not multiply in pairs
  warps that compute: 8; values that are live at once need 158 registers per thread of 240; \
runner-up: 4, which need 286 registers per thread of 248
  cost_kernels.py:15: multiply 128x256x64 of f16 with an accumulator of f32: wgmma; runner-up: mma.sync
    accumulator: registers
{OPERANDS}
  cost_kernels.py:16: store 128x64 of f16, 4 times: TMA, swizzle 128B"""
    )


def test_product_of_a_pair() -> None:
    """Two CTAs have 128 of 256 rows each; the model predicts that one would take longer."""
    assert (
        plan(cost_kernels.matmul, PRODUCT.format(256, 256), "sm_100a")
        == f"""\
plan of matmul on sm_100a
  CTAs per tile block: 2; a product of 4096x4096x4096 takes 90 us with pairs of blocks and 107 us without; runner-up: 1
  division among CTAs: rows
  warps that compute: 4; values that are live at once need 97 registers per thread of 248; runner-up: 8
  columns of tensor memory: 256 of 512; each value has columns of its own
  cost_kernels.py:15: multiply 128x256x64 of f16 with an accumulator of f32: tcgen05; runner-up: mma.sync
    accumulator: 256 columns of tensor memory
{OPERANDS}
  cost_kernels.py:16: store 128x64 of f16, 4 times: TMA, swizzle 128B"""
    )


def test_attention_in_tensor_memory() -> None:
    assert (
        plan(cost_kernels.attention, ATTENTION, "sm_100a")
        == """\
plan of attention on sm_100a
  CTAs per tile block: 1; a pair multiplies 256 rows in a loop, and 32 to 256 columns
  warps that compute: 4; the chains of multiplies have roles of their own, with the registers that they need; \
runner-up: 8
  columns of tensor memory: 384 of 512; each value has columns of its own
  cost_kernels.py:45: multiply 128x128x128 of f16 with an accumulator of f32: tcgen05; runner-up: mma.sync
    accumulator: 128 columns of tensor memory
    left operand: tensor memory, 64 columns
    right operand: TMA to shared memory, swizzle 128B
  cost_kernels.py:47: multiply 128x128x128 of f16 with an accumulator of f32: tcgen05; runner-up: mma.sync
    accumulator: 128 columns of tensor memory
    left operand: tensor memory, 64 columns
    right operand: TMA to shared memory, swizzle 128B
  cost_kernels.py:40: load 128x128 of f16: threads, 8 elements at once
  cost_kernels.py:48: store 128x64 of f16, 2 times: TMA, swizzle 128B"""
    )


def test_attention_in_registers() -> None:
    """The exponentials stay in the registers of the threads that multiply them."""
    assert (
        plan(cost_kernels.attention, ATTENTION, "sm_90a")
        == f"""\
plan of attention on sm_90a
  CTAs per tile block: 1; CTAs of sm_90a do not multiply in pairs
  warps that compute: 8; values that are live at once need 177 registers per thread of 240; \
runner-up: 4, which need 321 registers per thread of 248
  cost_kernels.py:45: multiply 128x128x128 of f16 with an accumulator of f32: wgmma; runner-up: mma.sync
    accumulator: registers
{OPERANDS}
  cost_kernels.py:47: multiply 128x128x128 of f16 with an accumulator of f32: wgmma; runner-up: mma.sync
    accumulator: registers
    left operand: registers
    right operand: TMA to shared memory, swizzle 128B
  cost_kernels.py:48: store 128x64 of f16, 2 times: TMA, swizzle 128B"""
    )


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_elements_of_arrays(target: str) -> None:
    """Loads by threads say why TMA does not do them."""
    outside = "it is outside of loops, where no load can run ahead"
    assert (
        plan(add, "x: f32[?%4], y: f32[?], z: f32[?%4], N=1024", target)
        == f"""\
plan of add on {target}
  CTAs per tile block: 1
  warps that compute: 4; values that are live at once need 45 registers per thread of 248; runner-up: 8
  test_plan.py:26: load 1024 of f32: threads, 4 elements at once; {outside}
  test_plan.py:26: load 1024 of f32: threads, 1 element at once; {outside}
  test_plan.py:26: store 1024 of f32: threads, 4 elements at once"""
    )


def test_hints_are_the_reasons_of_what_they_set() -> None:
    hints = {"num_ctas": 2, "warps": 8, "stages": 3}
    compiled = ct.compile(
        cost_kernels.matmul, signature=PRODUCT.format(256, 128), target="sm_90a", hints=hints, stop="gpu-raw"
    )
    text = compiled.explain("plan")
    assert "CTAs per tile block: 2; hint num_ctas=2\n  division among CTAs: rows\n" in text
    assert "warps that compute: 8; option warps=8\n" in text
    assert text.endswith("\n  stages: 3; hint for later stages")


def test_decisions_are_json() -> None:
    compiled = ct.compile(cost_kernels.matmul, signature=PRODUCT.format(128, 128), target="sm_100a", stop="gpu-raw")
    (report,) = reports_of(compiled, "plan")
    fields = json.loads(json.dumps(report.fields()))
    assert (fields["kernel"], fields["target"]) == ("matmul", "sm_100a")
    (multiply,) = [each for each in fields["decisions"] if each["subject"].startswith("multiply")]
    assert (multiply["chosen"], multiply["reason"], multiply["runner_up"]) == ("tcgen05", "", "mma.sync")
    assert (Path(multiply["location"]["file"]).name, multiply["location"]["line"]) == ("cost_kernels.py", 15)


def test_plan_needs_the_conversion_of_tile_ir() -> None:
    compiled = ct.compile(add, signature="x: f32[?], y: f32[?], z: f32[?], N=64", stop="tile-opt")
    with pytest.raises(UsageError, match="the report 'plan' needs stage 'gpu-raw'"):
        compiled.explain("plan")
