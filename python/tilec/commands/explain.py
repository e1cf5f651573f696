"""`tilec explain`: shows the PTX and the machine code of a source line, or the source of a line of PTX.

tilec explain k.py:kernel --sig '...' --line 17        what line 17 of k.py became, by role and block
tilec explain k.py:kernel --sig '...' --line f.py:3    a line of another file, of a function that the kernel calls
tilec explain k.py:kernel --sig '...' --ptx-line 204   the operation and the source line of line 204 of the PTX

Machine code is shown if nvdisasm is installed: CUDA, nvidia-cuda-nvdisasm and Triton contain it.
"""

from __future__ import annotations

import argparse
import sys

from tilec import compile_options
from tilec.commands import json_output
from tilec.commands.number import MAX_U32, decimal, integer
from tilec.driver.compiled import Compiled
from tilec.driver.stages import compile as compile_entry
from tilec.errors import UsageError
from tilec.explain.machine_code import disassembly, nvdisasm
from tilec.explain.source_line import PtxLineSource, SourceLineCode, code_of_line, source_of_ptx
from tilec.process.progress import elapsed

_NO_DISASSEMBLER = "note: no machine code without nvdisasm: install nvidia-cuda-nvdisasm"


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("source", metavar="SRC", help="file.py:kernel, or the file of a stage before PTX")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--line", metavar="[FILE:]N", help="a line of the kernel's file, or of another file")
    which.add_argument(
        "--ptx-line", metavar="N", type=integer(1, MAX_U32), help="a line of the PTX that `tilec compile` writes"
    )
    parser.add_argument("--entry", metavar="NAME", help="the entry or the kernel if there are several")
    parser.add_argument("--target", metavar="ARCH", help="sm_100a or sm_90a (default: TILEC_TARGET, else sm_100a)")
    parser.add_argument("--sig", "--signature", metavar="TEXT", help="signature, e.g. 'A: f16[?,?], TM=128'")
    parser.add_argument("--hint", metavar="NAME=VALUE", action="append", default=[], help="as of `tilec compile`")


def run(arguments: argparse.Namespace) -> None:
    """Compiles and prints the report; raises UsageError for a line without code."""
    wanted = None if arguments.line is None else _line(arguments.line)
    tool = nvdisasm() if wanted is not None else None
    with elapsed("compile"):
        compiled = _compiled(arguments, "cubin" if tool is not None else "ptx")
    if wanted is None:
        _print("explain_ptx", compiled, source_of_ptx(compiled, arguments.ptx_line), arguments.json)
        return
    line, file = wanted
    machine_code = disassembly(compiled.cubin, tool) if tool is not None else None
    _print("explain", compiled, code_of_line(compiled, line, file or _file(compiled), machine_code), arguments.json)
    if tool is None and not arguments.json:
        print(_NO_DISASSEMBLER, file=sys.stderr)


def _print(schema: str, compiled: Compiled, found: SourceLineCode | PtxLineSource, as_json: bool) -> None:
    if as_json:
        json_output.write(schema, {"target": compiled.target, **found.fields()})
    else:
        print(found.text())


def _compiled(arguments: argparse.Namespace, stop: str) -> Compiled:
    return compile_entry(
        arguments.source,
        entry=arguments.entry,
        target=arguments.target,
        signature=arguments.sig,
        hints=compile_options.hints_from_text(arguments.hint),
        stop=stop,
    )


def _file(compiled: Compiled) -> str | None:
    """The file of a kernel in Python; a module may have operations of any file."""
    path = compiled.source.path
    return str(path) if path is not None and path.suffix == ".py" else None


def _line(text: str) -> tuple[int, str | None]:
    """The line and, if it is given, the file."""
    file, _, number = text.rpartition(":")
    line = decimal(number)
    if line is None or line < 1:
        raise UsageError(f"--line: expected a line number such as 17 or file.py:17, got '{text}'")
    return line, file or None
