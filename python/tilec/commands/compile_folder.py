"""The part of `tilec compile` that compiles many kernels to one folder with an index."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilec import compile_options, options
from tilec.ahead_of_time.batch import compile_all
from tilec.ahead_of_time.c_header import header_text
from tilec.ahead_of_time.kernel_folder import check_destination, names_of, write_folder
from tilec.ahead_of_time.manifest import requests_of_manifest
from tilec.ahead_of_time.request import Outcome, Request
from tilec.ahead_of_time.sources import Selection, requests_of
from tilec.commands import json_output
from tilec.errors import InputError, UsageError
from tilec.lowering.target import target_named
from tilec.process.progress import progress
from tilec.process.worker_processes import WorkerProcesses
from tilec.remarks import Remark, reported
from tilec.runtime.artifact import artifact as artifacts
from tilec.runtime.artifact.kernel_index import Variant


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of a compile to a folder."""
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help="compile all kernels of the sources to this folder with an index, which tilec.load reads; a compile that "
        "fails changes nothing",
    )
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        help="with --folder: kernels and signatures in TOML or JSON (docs/formats/artifact.md)",
    )
    parser.add_argument(
        "--header",
        metavar="NAME",
        help="with --folder: also write a C header with this name, whose functions load and launch the kernels",
    )
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="with --folder: the number of processes")


def run(arguments: argparse.Namespace) -> None:
    """Compiles all requests, reports each, and writes the folder if none failed."""
    if arguments.jobs < 1:
        raise UsageError(f"--jobs needs a positive integer, got {arguments.jobs}")
    if arguments.header is not None and not re.fullmatch(r"\w[\w.-]*\.h", arguments.header):
        raise UsageError(f"--header needs the name of a file that ends with .h, got '{arguments.header}'")
    if arguments.emit != "ptx" or arguments.locations:
        option = "--locations" if arguments.locations else "--emit"
        raise UsageError(f"{option} is for one kernel: --folder writes PTX, cubin and launch metadata")
    folder = Path(arguments.folder)
    check_destination(folder)
    requests = _requests(arguments)
    names = dict(zip(map(id, requests), names_of(requests), strict=True))
    with _executor(min(arguments.jobs, len(requests))) as executor, progress("compile", len(requests)) as advance:
        outcomes = compile_all(requests, executor, lambda request, _outcome: advance(request.kernel))
    rows, is_asked = [], arguments.remarks or arguments.all_remarks
    for request, outcome in zip(requests, outcomes, strict=True):
        remarks = outcome.all_remarks if arguments.all_remarks else reported(outcome.all_remarks)
        if arguments.json:
            rows.append(_fields(request, names[id(request)], outcome, remarks))
            continue
        _report(request, names[id(request)], outcome, remarks if is_asked else ())
    compiled = [outcome.artifact for outcome in outcomes if outcome.artifact is not None]
    if len(compiled) < len(outcomes):
        failed = len(outcomes) - len(compiled)
        if arguments.json:
            raise next(outcome.error for outcome in outcomes if outcome.error is not None)
        raise InputError(f"{failed} of {len(outcomes)} compiles failed: {folder} is unchanged")
    write_folder(folder, requests, compiled, _header_writer(arguments.header))
    if arguments.json:
        json_output.write("folder", {"folder": str(folder), "variants": rows})
        return
    print(f"{len(compiled)} variants  {folder}")


def _requests(arguments: argparse.Namespace) -> list[Request]:
    targets = arguments.target or [options.from_environment().target]
    for target in targets:
        target_named(target)
    hints = compile_options.hints_from_text(arguments.hint) | ({"checks": True} if arguments.checks else {})
    compile_options.CompileOptions.of(hints)
    selection = Selection(targets, arguments.sig, hints, entry=arguments.entry)
    requests = [request for source in arguments.source for request in requests_of(source, selection)]
    if arguments.manifest is not None:
        requests += requests_of_manifest(Path(arguments.manifest), targets)
    if not requests:
        raise UsageError("nothing to compile: name files, directories or a --manifest")
    return requests


def _header_writer(name: str | None) -> Callable[[Path, Sequence[Variant]], None]:
    def write(folder: Path, variants: Sequence[Variant]) -> None:
        if name is not None:
            artifacts.write(folder / name, header_text(folder, variants, name).encode())

    return write


@contextmanager
def _executor(jobs: int) -> Iterator[Executor | None]:
    if jobs == 1:
        yield None
        return
    with WorkerProcesses(jobs) as executor:
        yield executor


def _fields(request: Request, name: str, outcome: Outcome, remarks: Sequence[Remark]) -> dict[str, Any]:
    names = {"name": name, "target": request.target, "signature": request.signature}
    times = {"milliseconds": round(outcome.seconds * 1e3, 3)}
    return {**names, **times, "remarks": json_output.remarks(remarks)}


def _report(request: Request, name: str, outcome: Outcome, remarks: Sequence[Remark]) -> None:
    if outcome.error is not None:
        print(f"{name} for {request.target} failed:\n{outcome.error}", file=sys.stderr)
        return
    print(f"{outcome.seconds * 1e3:9.1f} ms  {name:20} {request.target:8}  {request.signature or ''}".rstrip())
    for remark in remarks:
        print(remark, file=sys.stderr)


def check_single(sources: Sequence[str], arguments: argparse.Namespace) -> str:
    """The source of a compile without --folder; raises UsageError for options that need --folder."""
    if not any(sources):
        raise UsageError("the following arguments are required: SRC")
    if len(sources) != 1:
        raise UsageError(f"expected one source, got {len(sources)}: set --folder to compile several")
    if Path(sources[0]).is_dir():
        raise UsageError(f"{sources[0]} is a directory: set --folder to compile its kernels")
    given = {
        "--manifest": arguments.manifest is not None,
        "--header": arguments.header is not None,
        "--jobs": arguments.jobs != 1,
    }
    for option, is_set in given.items():
        if is_set:
            raise UsageError(f"{option} needs --folder")
    for option, values in (("--sig", arguments.sig), ("--target", arguments.target)):
        if len(values) > 1:
            raise UsageError(f"expected one {option}, got {len(values)}: set --folder to compile several variants")
    return sources[0]
