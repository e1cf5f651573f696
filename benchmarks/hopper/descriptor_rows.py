"""Whether a matrix descriptor may start at any row of a swizzle pattern of eight rows, on a GPU.

    python benchmarks/hopper/descriptor_rows.py [--json FILE]        needs numpy, cuda-bindings and an H100 or H200

A run of 96 rows lies in shared memory as TMA writes it, in swizzle 128B, and wgmma multiplies 64 of them from row 0, 1,
.. 8 on: the start address of its descriptor advances by 128 bytes per row. The manual demands nothing of the start, but
no public kernel is known to start off the pattern. Each product is compared with that of numpy, bit for bit: with a
base offset of 0, as the pattern itself is aligned, and with the number of the row. Tap s of a convolution is such a
product (docs/decisions/tma.md, "Multiplies read the taps of a run in place"), so that the multiply needs no registers
if it is right. Groups of eight rows are 9 or 10 rows apart in images with eight output pixels in a row.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from driver import checked

ROWS, COLUMNS, MULTIPLIED, FILTERS = 96, 64, 64, 8
ROW_BYTES = 2 * COLUMNS
_PATTERN_ROWS = 8
_BASE_OFFSET_BIT = 49
# The rows from one group of eight rows to the next.
_PITCHES = (8, 9, 10)
_STEPS, _STEP_BYTES = 4, 32


def _fields(pitch: int) -> int:
    """Bits 16 and 32 of a descriptor: leading and stride byte offsets in units of 16 bytes; bit 62: swizzle 128B."""
    return 1 << 16 | pitch * ROW_BYTES // 16 << 32 | 1 << 62


def _copy(source: str, target: str, rows: int) -> str:
    """All threads copy the rows of an array to shared memory, in swizzle 128B."""
    return f"""\
    shl.b32 %at, %thread, 2;
${source}:
    cvt.u64.u32 %wide, %at;
    add.u64 %address, %{source}, %wide;
    ld.global.u32 %value, [%address];
    shr.u32 %line, %at, 7;
    and.b32 %line, %line, 7;
    shl.b32 %line, %line, 4;
    xor.b32 %place, %at, %line;
    add.u32 %place, %place, %{target};
    st.shared.u32 [%place], %value;
    add.u32 %at, %at, 512;
    setp.lt.u32 %more, %at, {rows * ROW_BYTES};
    @%more bra ${source};"""


def _multiplies() -> str:
    """Four steps along K, each 32 bytes further in both operands."""
    lines = []
    for step in range(_STEPS):
        for name in ("left", "right"):
            lines.append(f"add.u64 %{name}{step}, %{name}, {step * _STEP_BYTES // 16};")
        lines.append(
            f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%sum0, %sum1, %sum2, %sum3}}, "
            f"%left{step}, %right{step}, 1, 1, 1, 0, 0;"
        )
    return "\n    ".join(lines)


PTX = f"""
.version 8.0
.target sm_90a
.address_size 64
.visible .entry multiply(.param .u64 images, .param .u64 filters, .param .u64 sums, .param .u64 offsets,
    .param .u32 row)
.reqntid 128, 1, 1
{{
    .shared .align 1024 .b8 run[{ROWS * ROW_BYTES}];
    .shared .align 1024 .b8 taps[{FILTERS * ROW_BYTES}];
    .reg .pred %more;
    .reg .b32 %thread, %row, %run, %taps, %at, %line, %place, %value, %start;
    .reg .b64 %images, %filters, %sums, %left, %right, %wide, %address, %offsets;
    .reg .b64 %left<{_STEPS}>, %right<{_STEPS}>;
    .reg .f32 %sum<4>;
    mov.u32 %thread, %tid.x;
    mov.u32 %run, run;
    mov.u32 %taps, taps;
    ld.param.u64 %images, [images];
    ld.param.u64 %filters, [filters];
    ld.param.u64 %sums, [sums];
    ld.param.u64 %offsets, [offsets];
    ld.param.u32 %row, [row];
{_copy("images", "run", ROWS)}
{_copy("filters", "taps", FILTERS)}
    fence.proxy.async.shared::cta;
    bar.sync 0;
    mad.lo.u32 %start, %row, {ROW_BYTES}, %run;
    shr.u32 %start, %start, 4;
    cvt.u64.u32 %left, %start;
    or.b64 %left, %left, %offsets;
    shr.u32 %start, %taps, 4;
    cvt.u64.u32 %right, %start;
    or.b64 %right, %right, {_fields(_PATTERN_ROWS)};
    mov.f32 %sum0, 0f00000000;
    mov.f32 %sum1, 0f00000000;
    mov.f32 %sum2, 0f00000000;
    mov.f32 %sum3, 0f00000000;
    wgmma.fence.sync.aligned;
    {_multiplies()}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %wide, %thread, 16;
    add.u64 %address, %sums, %wide;
    st.global.v4.f32 [%address], {{%sum0, %sum1, %sum2, %sum3}};
    ret;
}}
"""

# Executes the kernel with a row and the bits of the descriptor but its start; returns the sums of the threads.
Execute = Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]


def on_gpu(images: np.ndarray, filters: np.ndarray, row: int, fields: int) -> np.ndarray:
    """The sums on the first GPU of this process."""
    from cuda.bindings import driver

    checked(driver.cuInit(0))
    checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(0))))))
    function = checked(driver.cuModuleGetFunction(checked(driver.cuModuleLoadData(PTX.encode() + b"\0")), b"multiply"))
    sums = np.zeros((128, 4), np.float32)
    memory = [int(checked(driver.cuMemAlloc(array.nbytes))) for array in (images, filters, sums)]
    for address, array in zip(memory, (images, filters), strict=False):
        checked(driver.cuMemcpyHtoD(address, np.ascontiguousarray(array).ctypes.data, array.nbytes))
    values = np.array([*memory, fields, row], np.uint64)
    pointers = values.ctypes.data + 8 * np.arange(len(values), dtype=np.uint64)
    checked(driver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, 0, pointers.ctypes.data, 0))
    checked(driver.cuMemcpyDtoH(sums.ctypes.data, memory[2], sums.nbytes))
    for address in memory:
        checked(driver.cuMemFree(address))
    return sums


def tile(sums: np.ndarray) -> np.ndarray:
    """The product whose elements the threads hold: rows lane / 4 and 8 more of each warp, two columns at a time."""
    found = np.zeros((MULTIPLIED, FILTERS), np.float32)
    for thread, own in enumerate(sums):
        warp, lane = divmod(thread, 32)
        row, column = 16 * warp + lane // 4, lane % 4 * 2
        found[row, column : column + 2], found[row + 8, column : column + 2] = own[:2], own[2:]
    return found


def outcomes(execute: Execute) -> list[dict[str, object]]:
    """For each first row, pitch of groups and base offset the rows of the product that are wrong."""
    random = np.random.default_rng(0)
    images = random.integers(-8, 9, (ROWS, COLUMNS)).astype(np.float16)
    filters = random.integers(-8, 9, (FILTERS, COLUMNS)).astype(np.float16)
    exact = images.astype(np.float64) @ filters.T.astype(np.float64)
    rows, number = [], np.arange(MULTIPLIED)
    for pitch, row in itertools.product(_PITCHES, range(_PATTERN_ROWS + 1)):
        read = row + number // _PATTERN_ROWS * pitch + number % _PATTERN_ROWS
        for offset in dict.fromkeys((0, row % _PATTERN_ROWS)):
            found = tile(execute(images, filters, row, _fields(pitch) | offset << _BASE_OFFSET_BIT))
            wrong = np.flatnonzero((found != exact[read]).any(axis=1))
            described = {"row": row, "pitch": pitch, "base_offset": offset}
            rows.append({**described, "wrong_rows": [int(each) for each in wrong]})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    found = outcomes(on_gpu)
    for each in found:
        wrong = each["wrong_rows"]
        result = f"{len(wrong)} of {MULTIPLIED} rows are wrong" if wrong else "right"  # type: ignore[arg-type]
        print(f"from row {each['row']}, groups {each['pitch']} rows apart, base offset {each['base_offset']}: {result}")
    if options.json is not None:
        options.json.write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
