"""Launches of the kernels of the sheet on a GPU: arrays of torch, results in float32, and the work of libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from sheet.cases import Case
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

PROCESSORS = 132
# Larger than the L2 cache, so that rows come from memory.
ROWS, COLUMNS = 32768, 4096
HEADS = 32
EPSILON = 1e-5


@dataclass(frozen=True)
class Problem:
    """A launch of a kernel.

    Attributes:
        arguments: arrays and numbers, in the order of the kernel, without constants.
        grid: tile blocks.
        result: the array that the kernel writes, and that is compared.
        expected: computes the result in float32, for the leading rows of `result` if it has fewer.
        tolerance: the largest accepted relative error in the Frobenius norm.
        operations: additions and multiplications of all multiplies.
        bytes: bytes that the launch has to move from and to memory.
        libraries: the same work by functions of torch, by name.
    """

    arguments: tuple[Any, ...]
    grid: tuple[int, int, int]
    result: torch.Tensor
    expected: Callable[[], torch.Tensor]
    tolerance: float
    operations: float = 0
    bytes: float = 0
    libraries: Mapping[str, Callable[[], Any]] = field(default_factory=dict)


def problem(case: Case) -> Problem:
    """The launch of a case; the arrays have random values from a fixed seed."""
    torch.manual_seed(1)
    return _BUILDERS[case.kernel](case)


def _random(*shape: int, dtype: torch.dtype = torch.float16, scale: float = 1.0) -> torch.Tensor:
    return (torch.randn(shape, device="cuda", dtype=torch.float32) * scale).to(dtype)


def _empty(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """An array of NaN, so that elements that the kernel does not write are found."""
    return torch.full(shape, float("nan"), device="cuda", dtype=dtype)


def _tile(case: Case) -> tuple[int, int, int]:
    tm, tn, tk = (value for value in case.arguments if type(value) is int)
    return tm, tn, tk


def _tiles(rows: int, columns: int, tile: tuple[int, int, int]) -> int:
    return -(-rows // tile[0]) * -(-columns // tile[1])


def _matmul(case: Case) -> Problem:
    if case.arguments[0].dtype == "float8_e4m3fn":
        return _matmul_of_fp8(case)
    rows, size = (16 if "decode" in case.name else 8192), 8192
    a, b, c = _random(rows, size), _random(size, size), _empty(rows, size)
    out = torch.empty_like(c)
    tile = _tile(case)
    tiles = _tiles(rows, size, tile)
    blocks = PROCESSORS // (2 if "2 CTAs" in case.name else 1)
    return Problem(
        (a, b, c),
        (min(tiles, blocks) if "persistent" in case.name else tiles, 1, 1),
        c,
        lambda: a.float() @ b.float(),
        1e-3,
        operations=2 * rows * size * size,
        bytes=2 * (size * size + 2 * rows * size),
        libraries={"cuBLAS": lambda: torch.mm(a, b, out=out)},
    )


def _matmul_of_fp8(case: Case) -> Problem:
    size, kind = 8192, torch.float8_e4m3fn
    a, b, c = _random(size, size, dtype=kind), _random(size, size, dtype=kind), _empty(size, size)
    # cuBLAS multiplies 8-bit floats whose right operand is contiguous along K.
    along_depth = b.float().t().contiguous().to(kind).t()
    one = torch.ones((), device="cuda")
    return Problem(
        (a, b, c),
        (_tiles(size, size, _tile(case)), 1, 1),
        c,
        lambda: a.float() @ b.float(),
        1e-3,
        operations=2 * size**3,
        libraries={
            "cuBLAS": lambda: torch._scaled_mm(
                a, along_depth, scale_a=one, scale_b=one, out_dtype=torch.float16, use_fast_accum=False
            ),
        },
    )


def _matmul_of_rows(case: Case) -> Problem:
    size, kind = 8192, getattr(torch, case.arguments[0].dtype)
    fast = case.arguments[-1]
    a, b, c = _random(size, size, dtype=kind), _random(size, size, dtype=kind), _empty(size, size)
    one = torch.ones((), device="cuda")

    def scaled() -> Any:
        return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.float16, use_fast_accum=fast)

    return Problem(
        (a, b, c),
        (_tiles(size, size, _tile(case)), 1, 1),
        c,
        lambda: a.float() @ b.float().t(),
        # Each of 256 sums of wgmma is cut after 13 bits, by 2^-14 of a sum that grows as the root of its length.
        2**-14 * 256 * 2 / 3 if fast else 1e-3,
        operations=2 * size**3,
        libraries={"cuBLAS": scaled if kind.itemsize == 1 else lambda: torch.mm(a, b.t())},
    )


def _bias_gelu(case: Case) -> Problem:
    size = 8192
    a, b, bias, c = _random(size, size), _random(size, size, scale=size**-0.5), _random(size), _empty(size, size)
    return Problem(
        (a, b, bias, c),
        (_tiles(size, size, _tile(case)), 1, 1),
        c,
        lambda: functional.gelu(a.float() @ b.float() + bias.float(), approximate="tanh"),
        1e-3,
        operations=2 * size**3,
        libraries={"torch": lambda: functional.gelu(torch.addmm(bias, a, b), approximate="tanh")},
    )


def _gated(case: Case) -> Problem:
    size, (tm, tn, _) = 8192, _tile(case)
    a, b, d = _random(size, size), *(_random(size, size, scale=size**-0.5) for _ in range(2))
    c = _empty(size, size)
    return Problem(
        (a, b, d, c),
        (size // tm, size // tn, 1),
        c,
        lambda: functional.silu(a.float() @ b.float()) * (a.float() @ d.float()),
        2e-3,
        operations=4 * size**3,
        libraries={"torch": lambda: functional.silu(torch.mm(a, b)) * torch.mm(a, d)},
    )


def _attention(case: Case) -> Problem:
    rows, width, causal = _sizes_of_attention(case)
    batch, length = 2, 4096
    q, k, v = (_random(batch, HEADS, length, width) for _ in range(3))
    y = _empty(batch, HEADS, length, width)
    compared = 2

    def expected() -> torch.Tensor:
        parts = (each[:1, :compared].float() for each in (q, k, v))
        with sdpa_kernel(SDPBackend.MATH):
            return functional.scaled_dot_product_attention(*parts, is_causal=causal)

    def library(backend: SDPBackend) -> Callable[[], Any]:
        def call() -> Any:
            with sdpa_kernel(backend):
                return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        return call

    return Problem(
        (q, k, v, y, width**-0.5, 0),
        (length // rows, batch * HEADS, 1),
        y[:1, :compared],
        expected,
        2e-3,
        operations=4 * batch * HEADS * length**2 * width / (2 if causal else 1),
        libraries={
            "cuDNN": library(SDPBackend.CUDNN_ATTENTION),
            "FlashAttention-2": library(SDPBackend.FLASH_ATTENTION),
        },
    )


def _sizes_of_attention(case: Case) -> tuple[int, int, bool]:
    found = re.fullmatch(r"attention (causal|full) (\d+)x\d+ d(\d+)", case.name)
    assert found is not None, case.name
    return int(found[2]), int(found[3]), found[1] == "causal"


def _softmax(case: Case) -> Problem:
    kind = getattr(torch, case.arguments[0].dtype)
    x, y = _random(ROWS, COLUMNS, dtype=kind), _empty(ROWS, COLUMNS, dtype=kind)
    return Problem(
        (x, y),
        (ROWS, 1, 1),
        y,
        lambda: torch.softmax(x.float(), 1),
        1e-3 if kind == torch.float16 else 1e-6,
        bytes=2 * x.nbytes,
        libraries={"torch": lambda: torch.softmax(x, 1)},
    )


def _layer_norm(case: Case) -> Problem:
    x, w, b, y = _random(ROWS, COLUMNS), _random(COLUMNS), _random(COLUMNS), _empty(ROWS, COLUMNS)
    mean, scale = (_empty(ROWS, dtype=torch.float32) for _ in range(2))
    return Problem(
        (x, w, b, y, mean, scale, EPSILON),
        (ROWS, 1, 1),
        y,
        lambda: functional.layer_norm(x.float(), (COLUMNS,), w.float(), b.float(), EPSILON),
        1e-3,
        bytes=2 * x.nbytes,
        libraries={"torch": lambda: functional.layer_norm(x, (COLUMNS,), w, b, EPSILON)},
    )


def _rms_norm(case: Case) -> Problem:
    persistent = case.kernel == "persistent_rms_norm"
    # A tile of the persistent kernel holds whole rows.
    rows, columns = (4 * ROWS, 1024) if persistent else (ROWS, COLUMNS)
    x, w, y = _random(rows, columns), _random(columns), _empty(rows, columns)
    return Problem(
        (x, w, y, EPSILON),
        (2 * PROCESSORS if persistent else rows, 1, 1),
        y,
        lambda: functional.rms_norm(x.float(), (columns,), w.float(), EPSILON),
        1e-3,
        bytes=2 * x.nbytes,
        libraries={"torch": lambda: functional.rms_norm(x, (columns,), w, EPSILON)},
    )


def _add(case: Case) -> Problem:
    size = 2**26
    a, b, c = _random(size), _random(size), _empty(size)
    out = torch.empty_like(c)
    return Problem(
        (a, b, c),
        (size // 1024, 1, 1),
        c,
        lambda: (a + b).float(),
        0,
        bytes=3 * a.nbytes,
        libraries={"torch": lambda: torch.add(a, b, out=out)},
    )


def _transpose(case: Case) -> Problem:
    size = 8192
    x, y = _random(size, size), _empty(size, size)
    return Problem(
        (x, y),
        (size // 64, size // 64, 1),
        y,
        lambda: x.t().float(),
        0,
        bytes=2 * x.nbytes,
        libraries={"torch": lambda: x.t().contiguous()},
    )


def _row_sum(case: Case) -> Problem:
    rows, columns = 16384, 8192
    x, y = _random(rows, columns, dtype=torch.float32), _empty(rows, dtype=torch.float32)
    return Problem(
        (x, y),
        (rows // 4, 1, 1),
        y,
        lambda: x.double().sum(1).float(),
        1e-5,
        bytes=x.nbytes,
        libraries={"torch": lambda: x.sum(1)},
    )


def _embedding(case: Case) -> Problem:
    count, columns, entries = 65536, 1024, 131072
    numbers = torch.randint(0, entries, (count,), device="cuda", dtype=torch.int32)
    table, y = _random(entries, columns), _empty(count, columns)
    return Problem(
        (numbers, table, y),
        (count // 64, columns // 64, 1),
        y,
        lambda: table[numbers.long()].float(),
        0,
        bytes=2 * y.nbytes,
        libraries={"torch": lambda: functional.embedding(numbers, table)},
    )


def _experts(case: Case) -> Problem:
    tile, tokens, replicas, experts, depth, width = 128, 8192, 2, 8, 4096, 4096
    x, w = _random(tokens, depth), _random(experts, width, depth, scale=depth**-0.5)
    y = _empty(tokens * replicas, width)
    ids = torch.randint(0, experts, (tokens * replicas,), device="cuda")
    shares = torch.ones(tokens * replicas, device="cuda")
    order, owners, parts = [], [], []
    for expert in range(experts):
        own = torch.nonzero(ids == expert).flatten().int()
        parts.append(own.long())
        blocks = -(-len(own) // tile)
        fill = torch.full((blocks * tile - len(own),), len(ids), device="cuda", dtype=torch.int32)
        order += [own, fill]
        owners += [expert] * blocks
    order, owners = torch.cat(order), torch.tensor(owners, device="cuda", dtype=torch.int32)

    def product(kind: torch.dtype) -> torch.Tensor:
        found = torch.empty(len(ids), width, device="cuda", dtype=kind)
        for expert, own in enumerate(parts):
            found[own] = x[own // replicas].to(kind) @ w[expert].to(kind).t()
        return found

    return Problem(
        (x, w, y, shares, order, owners, replicas),
        (len(owners) * (width // 128), 1, 1),
        y,
        lambda: product(torch.float32),
        1e-3,
        operations=2 * len(ids) * width * depth,
        libraries={"torch": lambda: product(torch.float16)},
    )


def _fft(case: Case) -> Problem:
    extent, rows, packing, batch = 64, 2, 16, 262144
    x = torch.randn(batch, extent, 2, device="cuda")
    packed, y = x.view(batch, 2 * extent // packing, packing), _empty(batch, extent, 2, dtype=torch.float32)

    def roots(rows: int, columns: int, order: int) -> torch.Tensor:
        angles = torch.outer(torch.arange(rows), torch.arange(columns)).double() * (-2 * torch.pi / order)
        return torch.stack([angles.cos(), angles.sin()], -1).float().cuda()

    tables = [roots(4, 4, 4), roots(4, 4, 4), roots(4, 4, 4), roots(4, 16, 64), roots(4, 4, 16)]
    complex_numbers = torch.view_as_complex(x)
    return Problem(
        (packed, y.view_as(packed), *tables),
        (batch // rows, 1, 1),
        y,
        lambda: torch.view_as_real(torch.fft.fft(complex_numbers.to(torch.complex128))).float(),
        1e-5,
        bytes=2 * x.nbytes,
        libraries={"cuFFT": lambda: torch.fft.fft(complex_numbers)},
    )


_BUILDERS: dict[str, Callable[[Case], Problem]] = {
    **dict.fromkeys(
        (
            *("matmul", "matmul_of_one_block", "matmul_of_pairs", "persistent_matmul"),
            *("persistent_matmul_of_one_block", "persistent_matmul_of_pairs"),
        ),
        _matmul,
    ),
    "matmul_of_rows": _matmul_of_rows,
    "gated_matmul": _gated,
    "matmul_bias_gelu": _bias_gelu,
    "attention": _attention,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    **dict.fromkeys(("rms_norm", "gathered_rms_norm", "persistent_rms_norm"), _rms_norm),
    "add": _add,
    "transpose": _transpose,
    "row_sum": _row_sum,
    "embedding": _embedding,
    "expert_matmul": _experts,
    "fft": _fft,
}
