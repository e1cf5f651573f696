"""`tilec simulate`: runs a PTX file on the processor and prints what it counted.

Each --arg is one argument of the kernel, in order:

  A.npy               an array read from a file
  A.npy:bf16          the same, its elements taken for that type
  C.npy:f16[128,256]  an array of zeros, written to the file after the run
  3, -1, 0.5, true    a scalar; for PTX without a .launch.json beside it with its type, as in u32:3 or f32:0.5
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tilec import options
from tilec.commands.argument import GivenArgument, grid_argument, read_argument
from tilec.errors import InputError, UsageError
from tilec.runtime import artifact as artifacts
from tilec.runtime.arrays import view
from tilec.runtime.grid import Dimensions
from tilec.runtime.parameters import block, pack_value
from tilec.runtime.simulate import Settings, Shape, program, run_text
from tilec.runtime.simulate import simulate as simulate_artifact


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("file", metavar="FILE.ptx")
    parser.add_argument("--arg", metavar="ARG", action="append", default=[], help="an argument, see above")
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", required=True)
    parser.add_argument("--block", metavar="X[,Y[,Z]]", help="default: what the PTX requires")
    parser.add_argument("--cluster", metavar="X[,Y[,Z]]", help="default: what the PTX requires")
    parser.add_argument("--shared", metavar="BYTES", type=int, help="dynamic shared memory")
    parser.add_argument("--entry", metavar="NAME", help="where the PTX has several")
    parser.add_argument("--seed", type=int, help="orders warps and asynchronous work (default: TILEC_SEED, else 0)")
    parser.add_argument("--no-checks", action="store_true", help="look for no races and lost waits")
    parser.add_argument("--allow-unconfirmed", action="store_true", help="run what NVIDIA leaves undocumented")


def run(arguments: argparse.Namespace) -> None:
    """Simulates, writes the arrays that are to be written, prints the counters."""
    grid = grid_argument(arguments.grid, "--grid")
    given = [read_argument(text) for text in arguments.arg]
    seed = options.from_environment().seed if arguments.seed is None else arguments.seed
    settings = Settings(seed, not arguments.no_checks, arguments.allow_unconfirmed)
    path = Path(arguments.file)
    described = artifacts.stem(path).with_name(artifacts.stem(path).name + artifacts.METADATA_SUFFIX)
    if described.exists():
        counters = _run_artifact(arguments, path, grid, given, settings)
    else:
        counters = _run_bare(arguments, path, grid, given, settings)
    for argument in given:
        argument.save()
    for name, value in counters_of(counters).items():
        print(f"{name:28}{value}")


def _run_artifact(
    arguments: argparse.Namespace, path: Path, grid: Dimensions, given: list[GivenArgument], settings: Settings
) -> object:
    artifact = artifacts.load(path)
    metadata = artifact.metadata
    if arguments.entry not in (None, metadata.entry):
        raise UsageError(f"{path} was compiled for entry '{metadata.entry}', got '{arguments.entry}'")
    changed = replace(
        metadata,
        block=_given(arguments.block, "--block", metadata.block),
        cluster=_given(arguments.cluster, "--cluster", metadata.cluster),
        shared_bytes=metadata.shared_bytes if arguments.shared is None else arguments.shared,
    )
    return simulate_artifact(replace(artifact, metadata=changed), grid, [a.value for a in given], settings)


def _run_bare(
    arguments: argparse.Namespace, path: Path, grid: Dimensions, given: list[GivenArgument], settings: Settings
) -> object:
    ptx = artifacts.read(path).decode(errors="replace")
    entries = {entry.name: entry for entry in program(ptx, str(path)).entries}
    if arguments.entry is None and len(entries) != 1:
        raise UsageError(f"{path} has {len(entries)} entries, name one of them with --entry: {', '.join(entries)}")
    name = arguments.entry or next(iter(entries))
    if name not in entries:
        raise UsageError(f"{path} has no entry '{name}' (entries: {', '.join(entries)})")
    entry = entries[name]
    threads = _given(arguments.block, "--block", tuple(entry.required_threads))
    if not all(threads):
        raise UsageError(f"entry '{name}' does not say its block size, give --block")
    cluster = _given(arguments.cluster, "--cluster", _at_least_one(entry.cluster))
    shape = Shape(grid, threads, cluster, arguments.shared or 0)
    contents, ranges = [], []
    for argument in given:
        if argument.is_array:
            array = view(argument.value, argument.text)
            contents.append(array.address.to_bytes(8, "little"))
            ranges.append((*array.byte_range(), array.writable))
        else:
            contents.append(pack_value(_parameter_type(argument), argument.value))
    return run_text(ptx, name, shape, block(contents), ranges, settings, str(path))


def _parameter_type(argument: GivenArgument) -> str:
    if argument.type is None:
        raise InputError(f"argument '{argument.text}' needs its type for PTX without launch metadata, as in u32:3")
    return argument.type


def _at_least_one(extents: Sequence[int]) -> Dimensions:
    x, y, z = (max(1, extent) for extent in extents)
    return x, y, z


def _given(text: str | None, option: str, otherwise: Dimensions) -> Dimensions:
    return otherwise if text is None else grid_argument(text, option)


def counters_of(counters: object) -> dict[str, object]:
    """The counters by name, whether they come as a dictionary or as attributes."""
    if isinstance(counters, dict):
        return counters
    names = [name for name in dir(counters) if not name.startswith("_")]
    return {name: value for name in names if not callable(value := getattr(counters, name))}
