"""`tilec compile`: compiles a kernel, or the file of any stage, up to the stage that --emit selects.

With --folder it compiles many kernels, signatures and targets to one folder with an index, which tilec.load reads:

tilec compile kernels/ --folder out --jobs 4              each kernel of a directory, for its @ct.signatures
tilec compile k.py:add --sig '...' --sig '...' --target sm_90a --target sm_100a --folder out
tilec compile --manifest kernels.toml --folder out        a list of sources and signatures

The launch metadata of PTX are written to a .launch.json beside the file, or to a comment at the end of standard output.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tilec import compile_options
from tilec.commands import compile_folder, json_output
from tilec.driver.compile_result import StageResult, total_seconds
from tilec.driver.compiled import Compiled
from tilec.driver.stages import STAGE_NAMES
from tilec.driver.stages import compile as compile_entry
from tilec.errors import UsageError
from tilec.explain.reports import REPORTS, memory_picture, reports_of
from tilec.process.progress import elapsed
from tilec.runtime.artifact import artifact as artifacts
from tilec.runtime.artifact.launch_comment import with_launch_comment
from tilec.runtime.artifact.metadata import to_line

EMITS = (*STAGE_NAMES, "all")
_HINTS = "; ".join(
    [f"{name}=on|off: {effect}" for name, effect in compile_options.SWITCHES.items()]
    + [f"{name}=N: {meaning}" for name, (meaning, _) in compile_options.SIZES.items()]
    + [f"{name}={'|'.join(values)}: {meaning}" for name, (meaning, values) in compile_options.CHOICES.items()]
)


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "source",
        metavar="SRC",
        nargs="*",
        help="file.py:kernel, the file of any stage, or - for standard input (Python too); with --folder also folders",
    )
    parser.add_argument("--entry", metavar="NAME", help="the entry or the kernel to compile if there are several")
    parser.add_argument(
        "--target",
        metavar="ARCH",
        action="append",
        default=[],
        help="sm_100a or sm_90a (default: TILEC_TARGET, else sm_100a); with --folder it can be repeated",
    )
    parser.add_argument("--emit", choices=EMITS, default="ptx", help="the stage to write, or all stages (default: ptx)")
    parser.add_argument(
        "--sig",
        "--signature",
        metavar="TEXT",
        action="append",
        default=[],
        help="signature, e.g. 'A: f16[?,?], B: f16[?,?] strides (1,?), TM=128'; with --folder it can be repeated",
    )
    parser.add_argument("--hint", metavar="NAME=VALUE", action="append", default=[], help=_HINTS)
    parser.add_argument(
        "--checks",
        action="store_true",
        help="the compiled kernel asserts that no operation is undefined, at its line (docs/checking.md)",
    )
    parser.add_argument("--locations", action="store_true", help="print the source location of each operation")
    parser.add_argument(
        "--remarks",
        action="store_true",
        help="report missed optimizations and hints that were not followed on standard error, the largest loss first",
    )
    # An option of its own, because an optional value would take the source of `--remarks SRC`.
    parser.add_argument(
        "--remarks=all", dest="all_remarks", action="store_true", help="also report losses below 1 %% of the kernel"
    )
    parser.add_argument(
        "--explain",
        choices=tuple(REPORTS),
        action="append",
        default=[],
        help="write a report to standard error: "
        + "; ".join(f"{name}: {meaning}" for name, (_, meaning) in REPORTS.items()),
    )
    parser.add_argument("--svg", metavar="FILE", help="with --explain memory: write the chart as a picture")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="PATH",
        help="output file, or - for standard output (default); with --emit all a folder or the stem of the files "
        "(default: the name of the entry)",
    )
    compile_folder.define(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compiles, then writes the selected stages or the folder; a compile that fails writes nothing."""
    if arguments.folder is not None:
        if arguments.output is not None:
            raise UsageError("-o is the output of one kernel: set either -o or --folder")
        compile_folder.run(arguments)
        return
    source = compile_folder.check_single(arguments.source, arguments)
    emit = arguments.emit
    to_file = arguments.output not in (None, "-")
    if to_file:
        artifacts.check_folder(Path(arguments.output))
    elif emit == "all" and arguments.output == "-":
        raise UsageError("--emit all writes several files: set -o to a folder or to the stem of the files")
    elif emit == "cubin" and sys.stdout.isatty() and not arguments.json:
        raise UsageError("cannot write a cubin to a terminal: set -o to a file, or redirect the output")
    if arguments.svg is not None and "memory" not in arguments.explain:
        raise UsageError("--svg is a picture of the memory: add --explain memory")
    with elapsed("compile"):
        compiled = _compiled(arguments, source)
    if arguments.svg is not None:
        artifacts.write(Path(arguments.svg), memory_picture(compiled).encode())
    remarks = compiled.all_remarks if arguments.all_remarks else compiled.remarks
    reports = {name: reports_of(compiled, name) for name in arguments.explain}
    if arguments.json:
        explained = {name: [report.fields() for report in each] for name, each in reports.items()}
        fields = {"remarks": json_output.remarks(remarks), "explain": explained}
        _write_json(compiled, emit, arguments.output, arguments.locations, fields)
        return
    for each in reports.values():
        for report in each:
            print(report.text(), file=sys.stderr)
    for remark in remarks if arguments.remarks or arguments.all_remarks else ():
        print(remark, file=sys.stderr)
    if emit == "all":
        _write_all(compiled, arguments.output, arguments.locations)
    else:
        _write_one(_result(compiled, emit), compiled, arguments.output, arguments.locations)


def _compiled(arguments: argparse.Namespace, source: str) -> Compiled:
    return compile_entry(
        source,
        entry=arguments.entry,
        target=arguments.target[0] if arguments.target else None,
        signature=arguments.sig[0] if arguments.sig else None,
        hints=compile_options.hints_from_text(arguments.hint),
        checks=arguments.checks,
        stop="cubin" if arguments.emit == "all" else arguments.emit,
    )


def _write_json(compiled: Compiled, emit: str, output: str | None, locations: bool, reports: dict[str, Any]) -> None:
    """Writes the files of the output; without an output, the JSON contains the text of the selected stages.

    `reports` are the fields with the remarks and the reports of `--explain`.
    """
    written = {}
    if emit == "all" and output is not None:
        written = {result.name: str(result.save(_stem(compiled, output), locations)) for result in compiled.stages}
    elif output not in (None, "-"):
        _write_one(_result(compiled, emit), compiled, output, locations)
        written = {emit: output}
    shown = () if written else compiled.stages if emit == "all" else (_result(compiled, emit),)
    texts = {result.name: result.content(locations).decode() for result in shown if result.name != "cubin"}
    stages = [
        {
            "name": result.name,
            "milliseconds": round(result.seconds * 1e3, 3),
            "file": written.get(result.name),
            "text": texts.get(result.name),
        }
        for result in compiled.stages
    ]
    launch = None if compiled.metadata is None else json.loads(to_line(compiled.metadata))
    fields = {"source": compiled.source.name, "target": compiled.target, "stages": stages, "launch": launch}
    json_output.write("compile", {**fields, **reports})


def _result(compiled: Compiled, emit: str) -> StageResult:
    result = compiled.stage(emit)
    if result is None:
        raise UsageError(f"{compiled.source.name} is at a later stage than '{emit}'")
    return result


def _write_one(result: StageResult, compiled: Compiled, output: str | None, locations: bool) -> None:
    has_metadata = result.name in ("ptx", "cubin") and compiled.metadata is not None
    if output in (None, "-"):
        content = result.content(locations)
        if has_metadata and result.name == "ptx":
            content = with_launch_comment(result.text, compiled.artifact.metadata).encode()
        sys.stdout.buffer.write(content)
        return
    path, read = Path(output), compiled.source.path
    if read is not None and path.exists() and path.samefile(read):
        raise UsageError(f"-o {output} is the source, which the output would replace: set -o to another file")
    artifacts.write(path, result.content(locations))
    if has_metadata:
        artifacts.save_metadata(compiled.artifact, path)


def _default_stem(compiled: Compiled) -> str:
    if compiled.metadata is not None:
        return compiled.metadata.entry
    return artifacts.stem(compiled.source.path).name if compiled.source.path else "kernel"


def _stem(compiled: Compiled, output: str | None) -> Path:
    named = Path(output) if output else Path()
    return named / _default_stem(compiled) if named.is_dir() else named


def _write_all(compiled: Compiled, output: str | None, locations: bool) -> None:
    base = compiled.save(_stem(compiled, output), locations)
    for result in compiled.stages:
        print(f"{result.seconds * 1e3:9.1f} ms  {result.name:10}  {base}{result.suffix}")
    print(f"{total_seconds(compiled.stages) * 1e3:9.1f} ms  total")
    if compiled.metadata is not None:
        print(f"{'':14}launch      {base}{artifacts.METADATA_SUFFIX}")
