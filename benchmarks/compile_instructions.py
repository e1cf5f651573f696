"""Instructions of the first compile of a kernel by stage, without ptxas: valgrind counts them, the same in every run.

    python benchmarks/compile_instructions.py [--target sm_100a] [--tile 128,128,64]
    python benchmarks/compile_instructions.py --case "attention full 128x128 d128"

The kernels are those of compile_time.py, whose times differ by a third on a machine that other programs use, and the
counts by a thousandth. So this is what tells whether a change makes the compiler faster. It needs valgrind on x86-64.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import argument_types
from compile_time import operations, ready_kernel, signature, write_bytecode
from progress import show_progress
from sheet.case import TARGETS

# What valgrind looks for in code: four rotations that change nothing, then an exchange that changes nothing. It then
# reads the request that rax points to (valgrind.h, "amd64-linux").
_REQUEST = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
# callgrind.h: the requests of the tool "CT".
_DUMP_AT, _START, _STOP = (0x43540000 + number for number in (3, 4, 5))
_BETWEEN = "between"
_PART = re.compile(r"^desc: Trigger: Client Request: (\S+)$.*?^(?:summary|totals): (\d+)", re.MULTILINE | re.DOTALL)


def main() -> None:
    options = arguments()
    if options.child:
        count_once(options)
        return
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        sys.exit("valgrind is not installed (apt install valgrind)")
    with tempfile.TemporaryDirectory() as folder:
        options.bytecode = None if options.case is None else write_bytecode(options.case, Path(folder))
        show_progress("valgrind counts the instructions of a compile, about a minute")
        found = counted(valgrind, options, Path(folder))
        show_progress("")
        count = operations(options)
    total = sum(found.values())
    print(f"{options.case or f'f16 matmul, tile {options.tile}'}, {options.target}: millions of instructions\n")
    for stage, instructions in found.items():
        print(f"  {stage:<12}{instructions / 1e6:9.1f}{instructions / total:8.0%}")
    print(f"  {'total':<12}{total / 1e6:9.1f}\n\n{total / 1e6 / count:.2f} for each of {count} operations")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="sm_100a", choices=TARGETS)
    parser.add_argument(
        "--tile", type=argument_types.extents, default="128,128,64", help="M,N,K (default: %(default)s)"
    )
    parser.add_argument("--case", help="a row of the sheet instead of the matmul")
    parser.add_argument("--json", type=Path, help="write the instructions of each stage to a file")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--bytecode", help=argparse.SUPPRESS)
    return parser.parse_args()


def counted(valgrind: str, options: argparse.Namespace, folder: Path) -> dict[str, int]:
    """The instructions of each stage of a compile in a new process."""
    command = [valgrind, "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'counts'}"]
    command += [sys.executable, __file__, "--child", "--target", options.target, "--tile", options.tile]
    command += [] if options.bytecode is None else ["--bytecode", options.bytecode]
    # The order of sets of strings differs in each process otherwise.
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    found: defaultdict[str, int] = defaultdict(int)
    for path in sorted(folder.glob("counts.*"), key=lambda path: int(path.suffix[1:])):
        for stage, instructions in _PART.findall(path.read_text(errors="replace")):
            found[stage] += int(instructions)
    return dict(found)


def count_once(options: argparse.Namespace) -> None:
    """Compiles in this process, of which valgrind writes the instructions of each stage."""
    import tilec
    from tilec.driver import stages

    kernel, step, valgrind = ready_kernel(options), stages._step, Valgrind()

    def counted_step(stage: Any, *arguments: Any) -> Any:
        valgrind.dump(_BETWEEN)
        made = step(stage, *arguments)
        valgrind.dump(stage.name)
        return made

    stages._step = counted_step
    valgrind.request(_START)
    tilec.compile(kernel, target=options.target, signature=signature(options), stop="ptx")
    valgrind.dump(_BETWEEN)
    valgrind.request(_STOP)


class Valgrind:
    """Requests to the valgrind that executes this process."""

    def __init__(self) -> None:
        self._code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._code.write(_REQUEST)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._code))
        self._call = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)(address)

    def request(self, number: int, argument: int = 0) -> None:
        words = (ctypes.c_size_t * 6)(number, argument)
        self._call(ctypes.addressof(words))

    def dump(self, name: str) -> None:
        """Writes the instructions since the last dump under a name."""
        text = ctypes.create_string_buffer(name.encode())
        self.request(_DUMP_AT, ctypes.addressof(text))


if __name__ == "__main__":
    main()
