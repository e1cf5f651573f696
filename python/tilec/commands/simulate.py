"""`tilec simulate`: runs PTX on the CPU, checks it, and prints the counters of the simulator.

The file is PTX, or the file of an earlier stage, which is first compiled to PTX. The launch metadata are read from the
.launch.json beside the PTX, or from the comment at its end that `tilec compile` writes to standard output. PTX without
launch metadata needs numbers with types: u32:3 in place of 3. A launch stops at an instruction that the simulator does
not support; --check-forms lists all of them without a launch. Each --arg is one argument of the kernel, in order:

"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from tilec import options
from tilec.commands import json_output
from tilec.commands.argument import ARGUMENT_FORMS, GivenArgument, define_arguments, grid_argument, read_argument
from tilec.commands.number import MAX_U32, MAX_U64, integer, positive
from tilec.driver import stages
from tilec.errors import InputError, UnsupportedError, UsageError
from tilec.process.progress import elapsed
from tilec.runtime.arrays import view
from tilec.runtime.artifact import artifact as artifacts
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.grid import Dimensions, grid_of
from tilec.runtime.parameters import block, pack_value
from tilec.runtime.simulate import Settings, Shape, program, run_text, unsupported_forms
from tilec.runtime.simulate import simulate as simulate_artifact
from tilec.text_input.source import Source, open_source


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.description = f"{__doc__}{ARGUMENT_FORMS}"
    parser.add_argument("file", metavar="FILE", help="PTX, the file of an earlier stage, or - for standard input")
    define_arguments(parser)
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", help="number of blocks (required for a launch)")
    parser.add_argument("--block", metavar="X[,Y[,Z]]", help="threads per block (default: from the PTX)")
    parser.add_argument("--cluster", metavar="X[,Y[,Z]]", help="blocks per cluster (default: from the PTX)")
    parser.add_argument("--shared", metavar="BYTES", type=integer(0, MAX_U32), help="size of dynamic shared memory")
    parser.add_argument("--entry", metavar="NAME", help="the entry to run if the file has several")
    parser.add_argument(
        "--target", metavar="ARCH", help="target of a compile from Tile IR: sm_100a or sm_90a (default: TILEC_TARGET)"
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=integer(0, MAX_U64),
        help="seed of the order of warps and asynchronous operations (default: TILEC_SEED, else 0)",
    )
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=positive("seconds"),
        help="stop a longer run and show the lines at which its threads wait (default: none)",
    )
    parser.add_argument("--no-checks", action="store_true", help="do not report races and missing waits")
    parser.add_argument(
        "--allow-unconfirmed", action="store_true", help="run instructions whose behavior NVIDIA does not document"
    )
    parser.add_argument(
        "--no-read-fences",
        action="store_true",
        help="accept asynchronous writes after generic reads without a proxy fence, as in kernels of CUTLASS",
    )
    parser.add_argument(
        "--check-forms",
        action="store_true",
        help="list the instructions that the simulator does not support or refuses, and run nothing",
    )
    parser.add_argument("--same-value-races", action="store_true", help="also report concurrent stores of equal values")
    parser.add_argument(
        "--tensor-load-waits", action="store_true", help="also report registers of tcgen05.ld read before its wait"
    )


def run(arguments: argparse.Namespace) -> None:
    """Simulates the kernel, writes the output arrays, and prints the counters; or checks the instructions."""
    if arguments.check_forms:
        _check_forms(arguments)
        return
    if arguments.grid is None:
        raise UsageError("the following arguments are required: --grid")
    grid = grid_argument(arguments.grid, "--grid", least=0)
    given = [read_argument(text) for text in arguments.arg]
    seed = options.from_environment().seed if arguments.seed is None else arguments.seed
    settings = Settings(
        seed,
        limit_s=arguments.limit,
        checks=not arguments.no_checks,
        allow_unconfirmed=arguments.allow_unconfirmed,
        same_value_races=arguments.same_value_races,
        tensor_load_waits=arguments.tensor_load_waits,
        read_fences=not arguments.no_read_fences,
    )
    printed: list[str] = []
    if arguments.json:
        settings = replace(settings, print=printed.append)
    source, artifact = _opened(arguments)
    with elapsed("simulate") as report:
        settings = replace(settings, progress=report)
        if artifact is not None:
            counters = _run_artifact(arguments, artifact, grid, given, settings)
        else:
            counters = _run_without_metadata(arguments, source.value, source.name, grid, given, settings)
    for argument in given:
        argument.save()
    if arguments.json:
        outputs = [str(argument.output) for argument in given if argument.output is not None]
        json_output.write("simulate", {"counters": counters, "outputs": outputs, "printed": "".join(printed)})
        return
    for name, value in counters.items():
        print(f"{name:28}{value}")


def _check_forms(arguments: argparse.Namespace) -> None:
    """Raises UnsupportedError with a note per instruction that the simulator does not support or refuses."""
    source, artifact = _opened(arguments)
    ptx = source.value if artifact is None else artifact.ptx
    notes = unsupported_forms(ptx, source.name)
    if notes:
        raise UnsupportedError(
            f"the simulator does not support {len(notes)} instructions of {source.name}", notes=notes
        )
    if arguments.json:
        json_output.write("simulate", {"counters": {}, "outputs": [], "printed": ""})


def _opened(arguments: argparse.Namespace) -> tuple[Source, Artifact | None]:
    """The source, compiled to PTX if it is an earlier stage, and its artifact; None if PTX has no launch metadata."""
    source = open_source(arguments.file)
    if source.stage is None:
        raise UsageError(f"{arguments.file} needs a signature: compile it with 'tilec compile', then simulate its PTX")
    if source.stage != "ptx":
        return source, stages.compile(source, entry=arguments.entry, target=arguments.target, stop="ptx").artifact
    if source.metadata is not None:
        return source, Artifact(source.metadata, source.value)
    if source.path is not None and artifacts.metadata_path(source.path).exists():
        return source, artifacts.load(source.path)
    return source, None


def _run_artifact(
    arguments: argparse.Namespace, artifact: Artifact, grid: Dimensions, given: list[GivenArgument], settings: Settings
) -> dict[str, int]:
    metadata = artifact.metadata
    if arguments.entry not in (None, metadata.entry):
        raise UsageError(f"{arguments.file} was compiled for entry '{metadata.entry}', got '{arguments.entry}'")
    changed = replace(
        metadata,
        block=_given(arguments.block, "--block", metadata.block),
        cluster=_given(arguments.cluster, "--cluster", metadata.cluster),
        shared_bytes=metadata.shared_bytes if arguments.shared is None else arguments.shared,
    )
    return simulate_artifact(replace(artifact, metadata=changed), grid, [a.value for a in given], settings)


def _run_without_metadata(
    arguments: argparse.Namespace,
    ptx: str,
    file: str,
    grid: Dimensions,
    given: list[GivenArgument],
    settings: Settings,
) -> dict[str, int]:
    entries = {entry.name: entry for entry in program(ptx, file).entries}
    if arguments.entry is None and len(entries) != 1:
        raise UsageError(f"{file} has {len(entries)} entries: select one with --entry: {', '.join(entries)}")
    name = arguments.entry or next(iter(entries))
    if name not in entries:
        raise UsageError(f"{file} has no entry '{name}' (entries: {', '.join(entries)})")
    entry = entries[name]
    threads = _given(arguments.block, "--block", entry.required_threads)
    if not all(threads):
        raise UsageError(f"entry '{name}' does not specify its block size: set --block")
    cluster = _given(arguments.cluster, "--cluster", _at_least_one(entry.cluster))
    shape = Shape(grid_of(grid), threads, cluster, arguments.shared or 0)
    contents, ranges = [], []
    for argument in given:
        if argument.is_array:
            array = view(argument.value, argument.text)
            contents.append(array.address.to_bytes(8, "little"))
            ranges.append((*array.byte_range(), array.writable))
        else:
            contents.append(pack_value(_parameter_type(argument), argument.value))
    return run_text(ptx, name, shape, block(contents), ranges, settings, file)


def _parameter_type(argument: GivenArgument) -> str:
    if argument.type is None:
        raise InputError(f"argument '{argument.text}' needs its type for PTX without launch metadata, as in u32:3")
    return argument.type


def _at_least_one(extents: Sequence[int]) -> Dimensions:
    x, y, z = (max(1, extent) for extent in extents)
    return x, y, z


def _given(text: str | None, option: str, otherwise: Dimensions) -> Dimensions:
    return otherwise if text is None else grid_argument(text, option)
