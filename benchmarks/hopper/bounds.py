"""Finds the bytes beyond an extent that TMA reads as zero and does not write, on a GPU.

    python benchmarks/hopper/bounds.py [--json FILE]        needs numpy, cuda-bindings and a GPU from Hopper on

A tensor has three rows of n elements, 128 bytes apart; a box of four rows is copied to shared memory, or from it, from
some coordinate on. The documentation promises zeros, and unchanged memory, from the first element beyond the extent.
One row per element type, swizzle, first coordinate and operation lists the extents for which the GPU does something
else, and by how many bytes before the box and after the extent.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from driver import MAP_BYTES, checked, encoded_map

# CUtensorMapDataType, and bytes of an element.
ELEMENTS = {
    "UINT8": (0, 1), "UINT16": (1, 2), "UINT32": (2, 4), "UINT64": (4, 8), "FLOAT16": (6, 2), "FLOAT32": (7, 4),
}  # fmt: skip
# CUtensorMapSwizzle, and bytes of a row of the box.
SWIZZLES = {"none": (0, 64), "32B": (1, 32)}
LOAD, STORE, ADD = OPERATIONS = ("reads", "writes", "adds")
# Integers, to which each byte of the box adds something.
ADDED = ("UINT32", "UINT64")
STRIDE_BYTES, ROWS, BOX_ROWS = 128, 3, 4
GUARD = 0xEE

PTX = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry copy(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 operation, .param .u32 bytes,
    .param .u32 first) {
    .shared .align 128 .b8 tile[512];
    .shared .align 8 .b64 full;
    .reg .pred %first, %loads, %adds, %done;
    .reg .b32 %thread, %operation, %bytes, %tile, %full, %at, %value, %zero, %coordinate;
    .reg .b64 %map, %out, %address, %wide;
    mov.u32 %thread, %tid.x;
    mov.u32 %zero, 0;
    setp.eq.u32 %first, %thread, 0;
    mov.u64 %map, map;
    cvta.param.u64 %map, %map;
    ld.param.u64 %out, [out];
    ld.param.u32 %operation, [operation];
    ld.param.u32 %bytes, [bytes];
    ld.param.u32 %coordinate, [first];
    mov.u32 %tile, tile;
    mov.u32 %full, full;
    add.u32 %at, %tile, %thread;
    // The content of the box: bytes 1, 2, 3 and so on.
    add.u32 %value, %thread, 1;
    st.shared.u8 [%at], %value;
    @%first mbarrier.init.shared::cta.b64 [%full], 1;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.eq.u32 %loads, %operation, 0;
    setp.eq.u32 %adds, %operation, 2;
    @%loads bra $load;
    @!%first bra $end;
    @%adds bra $add;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {%coordinate, %zero}], [%tile];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    bra $end;
$add:
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%map, {%coordinate, %zero}], [%tile];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    bra $end;
$load:
    @!%first bra $wait;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], %bytes;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [%tile], [%map, {%coordinate, %zero}], [%full];
$wait:
    mbarrier.try_wait.parity.shared::cta.b64 %done, [%full], %zero;
    @!%done bra $wait;
    ld.shared.u8 %value, [%at];
    cvt.u64.u32 %wide, %thread;
    add.u64 %address, %out, %wide;
    st.global.u8 [%address], %value;
$end:
    ret;
}
"""


class Copies:
    """Copies on the first GPU of this process."""

    def __init__(self) -> None:
        from cuda.bindings import driver

        self.driver = driver
        checked(driver.cuInit(0))
        context = checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(0))))
        checked(driver.cuCtxSetCurrent(context))
        module = checked(driver.cuModuleLoadData(PTX.encode() + b"\0"))
        self.function = checked(driver.cuModuleGetFunction(module, b"copy"))
        self.memory = int(checked(driver.cuMemAlloc(4096)))
        self.out = self.memory + 2048

    def copy(self, element: str, swizzle: str, first: int, extent: int, operation: str) -> np.ndarray:
        """The tensor's memory after a store, or the content of shared memory after a load."""
        row_bytes, driver = SWIZZLES[swizzle][1], self.driver
        tensor = np.full((BOX_ROWS, STRIDE_BYTES), GUARD, np.uint8)
        checked(driver.cuMemcpyHtoD(self.memory, tensor.ctypes.data, tensor.nbytes))
        (code, size), pattern = ELEMENTS[element], SWIZZLES[swizzle][0]
        box = row_bytes // size, BOX_ROWS
        map = ctypes.create_string_buffer(
            encoded_map(self.memory, code, (extent, ROWS), STRIDE_BYTES, box, pattern), MAP_BYTES
        )
        numbers = OPERATIONS.index(operation), row_bytes * BOX_ROWS, first
        values = ctypes.c_uint64(self.out), *(ctypes.c_uint32(number) for number in numbers)
        pointers = (ctypes.c_void_p * 5)(*(ctypes.addressof(each) for each in (map, *values)))
        threads = row_bytes * BOX_ROWS
        checked(driver.cuLaunchKernel(self.function, 1, 1, 1, threads, 1, 1, 0, 0, ctypes.addressof(pointers), 0))
        found = np.zeros(threads if operation == LOAD else tensor.nbytes, np.uint8)
        source = self.out if operation == LOAD else self.memory
        checked(driver.cuMemcpyDtoH(found.ctypes.data, source, found.nbytes))
        return found.reshape(BOX_ROWS, -1)


def outcome(element: str, swizzle: str, first: int, operation: str) -> dict[int, tuple[int, int]]:
    """By extent, the bytes before the box and after the extent that an operation reads or writes."""
    copies, size, row_bytes = Copies(), ELEMENTS[element][1], SWIZZLES[swizzle][1]
    excess = {}
    for extent in range(first + 1, STRIDE_BYTES // size + 1):
        found = copies.copy(element, swizzle, first, extent, operation)
        wanted = min(extent * size, first * size + row_bytes)
        begin, end = _touched(found[0], operation, first * size)
        if (begin, end) != (first * size, wanted):
            excess[extent] = (first * size - begin, end - wanted)
    return excess


def _touched(row: np.ndarray, operation: str, first_byte: int) -> tuple[int, int]:
    """The first and the end of the bytes of a row of the tensor that were read or written."""
    columns = ((row == GUARD) if operation == LOAD else (row != GUARD)).nonzero()[0]
    offset = first_byte if operation == LOAD else 0
    return int(columns.min(initial=len(row))) + offset, int(columns.max(initial=-1)) + 1 + offset


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--only", nargs=4, metavar=("ELEMENT", "SWIZZLE", "FIRST", "OPERATION"))
    options = parser.parse_args()
    if options.only is not None:
        element, swizzle, first, operation = options.only
        print(json.dumps(outcome(element, swizzle, int(first), operation)))
        return 0
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(_in_process, _questions()))
    for row in rows:
        print(
            f"{row['element']:8} swizzle {row['swizzle']:4} from {row['first']:2} {row['operation']:6} {row['found']}"
        )
    if options.json is not None:
        options.json.write_text(json.dumps(rows))
    return 0


def _questions() -> Iterator[tuple[str, str, int, str]]:
    for element, (_, size) in ELEMENTS.items():
        for swizzle in SWIZZLES:
            for operation in OPERATIONS:
                if operation != ADD or element in ADDED:
                    for first in (0, 1, 16 // size, 16 // size + 1):
                        yield element, swizzle, first, operation


def _in_process(question: tuple[str, str, int, str]) -> dict[str, Any]:
    """The row of a question, asked in a process of its own, as an illegal copy ends the context."""
    command = [sys.executable, __file__, "--only", *map(str, question)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    row = dict(zip(("element", "swizzle", "first", "operation"), question, strict=True))
    return {**row, "found": (lines or ["nothing printed"])[-1]}


if __name__ == "__main__":
    sys.exit(main())
