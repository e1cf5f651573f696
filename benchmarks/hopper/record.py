"""Records simulated launches of sm_90a kernels, so that replay.py can repeat them on a GPU.

    PYTHONPATH=benchmarks python -m pytest -p hopper.record --record-launches FOLDER tests/kernels
    python benchmarks/hopper/record.py random FOLDER --multiplies 250 --programs 150 --exits 100 --seed 1
    python benchmarks/hopper/record.py samples FOLDER       the kernels of tests/peers/cutile, exported by cuTile
    python benchmarks/hopper/record.py pack FOLDER          assembles all recorded PTX and writes FOLDER/launches.zip

The first three commands write one file per launch to FOLDER/raw, from any number of processes. `pack` keeps at most two
launches of a PTX text. FOLDER then contains launches.zip (cubins, arguments and the memory before and after each
launch), ptx.zip (the PTX by its SHA-256), replay.py and the modules of tilec that launch artifacts.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pickle
import re
import shutil
import struct
import sys
import uuid
import warnings
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import tilec.runtime.simulate as simulator
from tilec.errors import TilecError
from tilec.frozen import replace as replace_field
from tilec.hashing import sha256
from tilec.runtime.arguments import (
    Argument,
    ConstantArgument,
    ListArgument,
    PointerArgument,
    RecordArgument,
    TupleArgument,
    leaves,
)
from tilec.runtime.arrays import ArrayView, is_array, view
from tilec.runtime.artifact import Artifact
from tilec.runtime.binding import bind
from tilec.runtime.device_memory import HostRange, host_ranges
from tilec.runtime.elements import POINTEES
from tilec.runtime.grid import grid_of
from tilec.runtime.metadata import Metadata, to_line
from tilec.runtime.structured_values import fields_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = "sm_90a"
MOST_BYTES = 4 << 20
# The results of random multiplies are large, but compress well.
MOST_RANDOM_BYTES = 12 << 20
LAUNCHES_PER_PTX = 2
ARCHIVE_BYTES = 30_000_000
# An entry of an archive without its content: a header and a row of the directory.
ENTRY_BYTES = 200
# The size of the contents of all launches over that of the different ones.
CONTENT_SHARING = 1.16
# A kind with a weight is allowed that multiple of the bytes of another.
KIND_WEIGHTS = {
    "random multiplies": 24,
    "random programs": 8,
    "random exits": 8,
    "tests/semantics/test_simulate.py": 12,
    "tests/semantics/test_simulate_matrix.py": 4,
}
# The base addresses of memory are reproduced modulo this, the largest alignment of shared memory and of pages of TMA.
ADDRESS_MODULUS = 1024
SIMULATE = simulator.simulate

_FLOAT_ATOMIC = re.compile(r"\b(?:red|atom)\.[\w.:]*\.(?:f16|bf16|f32|f64|f16x2|bf16x2)\b")
_BULK_REDUCTION = re.compile(r"\bcp\.reduce\.async\.bulk")
_RETURNING_ATOMIC = re.compile(r"\batom\.")


@dataclass
class Recorder:
    """Writes the launches of this process to `folder`; `origin` names what launches next."""

    folder: Path
    origin: str = ""
    most_bytes: int = MOST_BYTES
    seen: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def install(self) -> None:
        """Replaces `simulate` in its module and in all modules that have imported it."""
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if value is SIMULATE and module.__name__ != __name__:
                    setattr(module, name, self.simulate)

    def simulate(
        self,
        artifact: Artifact,
        grid: Sequence[int] | int,
        given: Sequence[object],
        settings: simulator.Settings = simulator.DEFAULT_SETTINGS,
    ) -> dict[str, int]:
        """Simulates as `tilec.runtime.simulate.simulate`, and records a launch that succeeds."""
        launch = self._before(artifact, grid, given, settings)
        counters = SIMULATE(artifact, grid, given, settings)
        if launch is not None:
            self._write(launch)
        return counters

    def note(self, reference: str) -> None:
        """Records how the result of the last launch compares with its reference."""
        _write_file(self.folder, ".note", json.dumps([self.origin, reference]).encode())

    def _before(self, artifact: Artifact, grid: Any, given: Any, settings: simulator.Settings) -> dict[str, Any] | None:
        metadata = artifact.metadata
        if metadata.target != TARGET or not artifact.ptx:
            return None
        try:
            shape = grid_of(grid, metadata.cluster, metadata.grid_counts_clusters, metadata.cluster_if_divisible)
            arrays = list(bind(metadata.arguments, given).named_arrays().values())
        except TilecError:
            return None
        of_callers = _arrays_of_callers()
        named = [(leaf, _in_array(leaf, value, of_callers)) for leaf, value in _leaves(metadata.arguments, given)]
        arrays += [_whole(value) for _, value in named if isinstance(value, ArrayView)]
        ranges = host_ranges(arrays)
        too_large = sum(memory.size_bytes for memory in ranges) > self.most_bytes
        if 0 in shape or too_large or any(array.on_device for array in arrays):
            return None
        values = [_value(leaf, value, ranges) for leaf, value in named]
        key = json.dumps([metadata.entry, shape, _shapes(values)])
        known = self.seen[artifact.ptx]
        if key in known or len(known) == LAUNCHES_PER_PTX:
            return None
        known.add(key)
        before = [_content(memory) for memory in ranges]
        return {
            "origin": self.origin or os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)"),
            "key": key,
            "ptx": artifact.ptx,
            "metadata": to_line(_flattened(metadata)),
            "grid": _list(grid),
            "arguments": values,
            "ranges": ranges,
            "before": before,
            "marks": _marks(artifact, settings, ranges, before, values),
            # Keeps the memory of arrays that other libraries export.
            "arrays": arrays,
        }

    def _write(self, launch: dict[str, Any]) -> None:
        del launch["arrays"]
        ranges = launch["ranges"]
        launch["after"] = [_content(memory) for memory in ranges]
        launch["ranges"] = [[memory.address % ADDRESS_MODULUS, memory.size_bytes, memory.writable] for memory in ranges]
        _write_file(self.folder, ".launch", zlib.compress(pickle.dumps(launch), 1))


def _write_file(folder: Path, suffix: str, content: bytes) -> None:
    raw = folder / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    path = raw / f"{uuid.uuid4().hex}.partial"
    path.write_bytes(content)
    path.rename(path.with_suffix(suffix))


def _content(memory: HostRange) -> bytes:
    return ctypes.string_at(memory.address, memory.size_bytes) if memory.size_bytes else b""


def _list(grid: Any) -> Any:
    return int(grid) if isinstance(grid, int) else [int(extent) for extent in grid]


def _flattened(metadata: Metadata) -> Metadata:
    """The metadata with the items of tuples and records as arguments, and without constants."""
    found = tuple(leaf for leaf in leaves(metadata.arguments) if not isinstance(leaf, ConstantArgument))
    return replace_field(metadata, arguments=found)


def _leaves(arguments: Sequence[Argument], given: Sequence[Any]) -> Iterator[tuple[Argument, Any]]:
    """The arguments of _flattened with their values; `given` is with or without the constants."""
    if len(given) != len(arguments):
        arguments = [argument for argument in arguments if not isinstance(argument, ConstantArgument)]
    for argument, value in zip(arguments, given, strict=True):
        if isinstance(argument, TupleArgument):
            yield from _leaves(argument.items, value)
        elif isinstance(argument, RecordArgument):
            yield from _leaves(argument.items, tuple((fields_of(value) or {}).values()))
        elif not isinstance(argument, ConstantArgument):
            yield argument, value


def _arrays_of_callers() -> list[np.ndarray]:
    """The arrays that tests/semantics have in a local dictionary, and whose addresses they pass."""
    found, frame = [], sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        arrays = frame.f_locals.get("arrays")
        if isinstance(arrays, dict):
            found += [array for array in arrays.values() if isinstance(array, np.ndarray)]
    return found


def _in_array(argument: Argument, value: Any, arrays: list[np.ndarray]) -> Any:
    """For an address in one of the arrays the memory from there to its end; otherwise the value."""
    if not isinstance(argument, PointerArgument) or is_array(value):
        return value
    dtype = POINTEES[argument.element].dtypes[0]
    for array in arrays:
        end = array.ctypes.data + array.nbytes
        if array.ctypes.data <= value < end:
            return ArrayView(value, ((end - value) // dtype.itemsize,), (1,), dtype, True, False, array)
    return value


def _whole(array: ArrayView) -> ArrayView:
    """The bytes of the array of _in_array."""
    owner: Any = array.owner
    return ArrayView(owner.ctypes.data, (owner.nbytes,), (1,), np.dtype(np.uint8), True, False, owner)


def _value(argument: Argument, value: Any, ranges: list[HostRange]) -> Any:
    """The JSON of a value: a number, an array, or a list of arrays."""
    if isinstance(argument, ListArgument):
        return {"list": [_array(view(item, argument.name), ranges) for item in value]}
    if isinstance(value, ArrayView):
        return _array(value, ranges)
    if is_array(value) and getattr(value, "ndim", 1) + (not hasattr(argument, "signless")) > 0:
        return _array(view(value, argument.name), ranges)
    return value.item() if hasattr(value, "item") else value


def _array(array: ArrayView, ranges: list[HostRange]) -> dict[str, Any]:
    begin, size = array.byte_range()
    number = next(
        number
        for number, memory in enumerate(ranges)
        if memory.address <= begin and begin + size <= memory.address + memory.size_bytes
    )
    return {
        "range": number,
        "offset_bytes": begin - ranges[number].address,
        "dtype": _dtype_name(array.dtype),
        "shape": list(array.shape),
        "strides_bytes": [stride * array.dtype.itemsize for stride in array.strides],
        "writable": bool(array.writable),
    }


def _dtype_name(dtype: np.dtype) -> str:
    module = "numpy" if hasattr(np, dtype.type.__name__) else "ml_dtypes"
    return f"{module}.{dtype.type.__name__}"


def _shapes(values: list[Any]) -> list[Any]:
    """What tells launches of one kernel apart: shapes and strides, not scalars."""
    arrays = [value["list"] if "list" in value else [value] for value in values if isinstance(value, dict)]
    return [[(array["shape"], array["strides_bytes"]) for array in listed] for listed in arrays]


def _marks(
    artifact: Artifact, settings: simulator.Settings, ranges: list[HostRange], before: list[bytes], values: list[Any]
) -> dict[str, Any]:
    """Why the result on a GPU may differ, or why the launch cannot run there."""
    marks: dict[str, Any] = {}
    ptx, metadata = artifact.ptx, artifact.metadata
    if _FLOAT_ATOMIC.search(ptx) or _BULK_REDUCTION.search(ptx):
        marks["unordered"] = "sums"
    elif _RETURNING_ATOMIC.search(ptx):
        marks["unordered"] = "old values"
    if settings.allow_unconfirmed or metadata.allow_unconfirmed:
        marks["unconfirmed"] = True
    if not settings.checks:
        marks["unchecked"] = True
    if "vprintf" in ptx:
        marks["prints"] = True
    if "griddepcontrol" in ptx:
        marks["grid_dependency"] = True
    if "multimem." in ptx:
        marks["cannot_run"] = "multimem"
    if _has_addresses(ranges, before, values, metadata):
        marks["cannot_run"] = "host addresses"
    return marks


def _has_addresses(ranges: list[HostRange], before: list[bytes], values: list[Any], metadata: Metadata) -> bool:
    """Whether an argument, or a word of the memory, is the address of memory of the launch."""
    arguments = zip(metadata_arguments(metadata), values, strict=True)
    if any(hasattr(argument, "alignment") and not isinstance(value, dict) for argument, value in arguments):
        return True
    words = [np.array([value for value in values if type(value) is int and 0 <= value < 1 << 64], np.uint64)]
    for memory, content in zip(ranges, before, strict=True):
        skipped = -memory.address % 8
        words.append(np.frombuffer(content, np.uint64, max(0, len(content) - skipped) // 8, min(skipped, len(content))))
    found = np.concatenate(words)
    return any(
        bool(((found >= memory.address) & (found < memory.address + memory.size_bytes)).any()) for memory in ranges
    )


def metadata_arguments(metadata: Metadata) -> tuple[Argument, ...]:
    """The arguments of _flattened."""
    return _flattened(metadata).arguments


# The plugin of pytest.


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--record-launches", type=Path, metavar="FOLDER", help=f"record simulated launches of {TARGET}")


def pytest_configure(config: Any) -> None:
    folder = config.getoption("--record-launches")
    if folder is not None:
        Recorder(folder.resolve()).install()


# Random kernels and the samples of cuTile.


def record_random(folder: Path, kinds: dict[str, int], seed: int, jobs: int) -> None:
    """Records random kernels of tests/fuzz, of each kind as many as `kinds` says, in `jobs` processes."""
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    cases = [(kind, seed + number) for kind, count in kinds.items() for number in range(count)]
    _in_processes(lambda job: _record_cases(folder, cases[job::jobs]), jobs)


def _in_processes(work: Callable[[int], None], jobs: int) -> None:
    children = []
    for job in range(jobs):
        child = os.fork()
        if not child:
            work(job)
            sys.stdout.flush()
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def _record_cases(folder: Path, cases: list[tuple[str, int]]) -> None:
    from program_fuzz import _load_compiler
    from separate_process import run_in_process

    _load_compiler()
    recorder = Recorder(folder, most_bytes=MOST_RANDOM_BYTES)
    recorder.install()
    counts: Counter[str] = Counter()
    for done, (kind, seed) in enumerate(cases, 1):
        recorder.origin = f"random {kind}::seed {seed}"
        run = _multiply if kind == "multiplies" else partial(_program, kind)
        try:
            outcome = run_in_process(partial(run, seed, recorder), 60)
        except RuntimeError as error:
            outcome = f"error: {str(error)[:100]}"
        counts[f"{kind}: {outcome}"] += 1
        if done % 50 == 0 or done == len(cases):
            print(f"{done} of {len(cases)}: {dict(counts)}", flush=True)


def _multiply(seed: int, recorder: Recorder) -> str:
    """Records a random multiply with random settings; the reference is numpy."""
    import multiply_fuzz as fuzz
    from numpy_tiles import NumpyTiles

    import tilec as ct

    case = fuzz.random_case(seed)
    (settings,) = (settings for settings in case.settings if settings.target == TARGET)
    expected = fuzz._expected(case, NumpyTiles)
    path = recorder.folder / f"running-{os.getpid()}.py"
    path.write_text(case.source)
    scope: dict[str, Any] = {"ct": ct}
    try:
        exec(compile(case.source, path, "exec"), scope)
        kernel = ct.kernel(scope["kernel"])
        outcome = fuzz._outcome(TARGET, lambda: fuzz._simulated(case, kernel, settings), expected)
    finally:
        path.unlink()
    recorder.note(f"numpy: {outcome.kind}")
    return str(outcome.kind)


def _program(kind: str, seed: int, recorder: Recorder) -> str:
    """Records a random program; the reference is numpy, and the interpreter agrees with it."""
    import program_fuzz as fuzz

    import tilec

    program = fuzz.GENERATORS[kind](seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = program.expected()
    outcome = fuzz._simulated(program, tilec.Module.parse(program.text()), TARGET, expected)
    recorder.note(f"numpy: {outcome.kind}")
    return str(outcome.kind)


def record_samples(folder: Path) -> None:
    """Records the kernels of tests/peers/cutile, which cuTile exports as bytecode."""
    sys.path.insert(0, str(ROOT / "tests" / "peers"))
    from cutile.cases import CASES, case_name
    from cutile.kernels import KERNELS
    from cutile.launcher import Launcher

    recorder = Recorder(folder)
    recorder.install()
    for topic, cases in CASES.items():
        for case in cases:
            recorder.origin = f"cuTile {topic}::{case_name(case)}"
            try:
                ratios = [comparison.ratio for comparison in case(Launcher(KERNELS, "13.4", target=TARGET))]
                recorder.note("within bounds" if max(ratios) <= 1 else "beyond bounds")
            except TilecError as error:
                print(f"{recorder.origin}: {error.message}", flush=True)


# The archive.


def pack(folder: Path, jobs: int, budget_bytes: int, seed: int) -> None:
    """Writes the archives of all recorded launches, and what replay.py needs beside them."""
    contents: dict[str, bytes] = {}
    launches = list(_chosen(folder / "raw", Random(seed), contents))
    texts = {launch["ptx_sha256"]: launch.pop("ptx") for launch in launches}
    print(f"{len(launches)} launches of {len(texts)} PTX texts", flush=True)
    cubins = _assembled(texts, folder / "cubins", jobs)
    for launch in launches:
        if isinstance(cubins[launch["ptx_sha256"]], str):
            launch["marks"]["cannot_run"] = cubins[launch["ptx_sha256"]]
    kept = _within_budget(launches, cubins, contents, budget_bytes, Random(seed))
    _write_archive(folder / "launches.zip", kept, cubins, contents)
    with zipfile.ZipFile(folder / "ptx.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted({launch["ptx_sha256"] for launch in kept}):
            archive.writestr(f"{name}.ptx", texts[name])
    _copy_launcher(folder)
    _report(folder, kept, len(launches))


def _chosen(raw: Path, random: Random, contents: dict[str, bytes]) -> Iterator[dict[str, Any]]:
    """At most LAUNCHES_PER_PTX different launches of a PTX text, chosen at random, sorted by origin.

    `contents` receives the compressed contents of their memory, which the launches then name.
    """
    notes = dict(json.loads(path.read_text()) for path in sorted(raw.glob("*.note")))
    paths = sorted(raw.glob("*.launch"))
    random.shuffle(paths)
    seen: dict[str, set[str]] = defaultdict(set)
    chosen = []
    for path in paths:
        launch = pickle.loads(zlib.decompress(path.read_bytes()))
        launch["ptx_sha256"] = sha256(launch["ptx"].encode()).hexdigest()
        keys = seen[launch["ptx_sha256"]]
        if launch["key"] in keys or len(keys) == LAUNCHES_PER_PTX:
            continue
        keys.add(launch.pop("key"))
        if launch["origin"] in notes:
            launch["reference"] = notes[launch["origin"]]
        for moment in ("before", "after"):
            launch[moment] = [_add_content(content, contents) for content in launch[moment]]
        chosen.append(launch)
    yield from sorted(chosen, key=lambda launch: launch["origin"])


def _add_content(content: bytes, contents: dict[str, bytes]) -> str:
    name = f"memory/{sha256(content).hexdigest()[:32]}"
    if name not in contents:
        contents[name] = zlib.compress(content, 6)
    return name


def _assembled(texts: dict[str, str], folder: Path, jobs: int) -> dict[str, bytes | str]:
    """The cubin of each text, or the message of the assembler; cubins that `folder` has are not assembled again."""
    folder.mkdir(exist_ok=True)
    missing = [(name, text) for name, text in texts.items() if not (folder / name).exists()]
    found: dict[str, bytes | str] = {}
    with Pool(jobs) as pool:
        for done, (name, cubin) in enumerate(pool.imap_unordered(_assemble, missing, 4), 1):
            found[name] = cubin
            if isinstance(cubin, bytes):
                (folder / name).write_bytes(cubin)
            if done % 200 == 0:
                print(f"assembled {done} of {len(missing)}", flush=True)
    found |= {name: (folder / name).read_bytes() for name in texts if name not in found}
    return {name: cubin if isinstance(cubin, str) else without_ptx_text(cubin) for name, cubin in found.items()}


def _assemble(named: tuple[str, str]) -> tuple[str, bytes | str]:
    from tilec.runtime.cubin import assemble

    name, ptx = named
    try:
        return name, assemble(ptx, TARGET).content
    except TilecError as error:
        return name, f"not assembled: {error.message}"


# ELF-64 object files: a section header has name, type, flags, address, offset, size, and fields without use here.
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SECTIONS_AT, _SECTION_COUNT_AT = 0x28, 0x3C


def without_ptx_text(cubin: bytes) -> bytes:
    """The cubin with zeros for the copy of the PTX that only debuggers read, which is most of a small cubin."""
    (start,) = struct.unpack_from("<Q", cubin, _SECTIONS_AT)
    count, names = struct.unpack_from("<HH", cubin, _SECTION_COUNT_AT)
    sections = [_SECTION.unpack_from(cubin, start + number * _SECTION.size) for number in range(count)]
    content = bytearray(cubin)
    for name, _type, _flags, _address, offset, size, *_ in sections:
        if cubin.startswith(b".nv_debug_ptx_txt", sections[names][4] + name):
            content[offset : offset + size] = bytes(size)
    return bytes(content)


def kind_of(origin: str) -> str:
    """The test file or the kind of random kernels."""
    return origin.partition("::")[0]


def _within_budget(
    launches: list[dict[str, Any]],
    cubins: dict[str, bytes | str],
    contents: dict[str, bytes],
    budget_bytes: int,
    random: Random,
) -> list[dict[str, Any]]:
    """The launches without random ones of the largest kinds, so that the archive is within the budget."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for launch in launches:
        groups[kind_of(launch["origin"])][launch["ptx_sha256"]].append(launch)
    sizes = {
        name: ENTRY_BYTES + (len(zlib.compress(cubin)) if isinstance(cubin, bytes) else 0)
        for name, cubin in cubins.items()
    }
    for launch in launches:
        names = {*launch["before"], *launch["after"]}
        sizes[launch["ptx_sha256"]] += sum(ENTRY_BYTES + len(contents[name]) for name in names)
    totals = {kind: sum(sizes[name] for name in names) for kind, names in groups.items()}
    while sum(totals.values()) > budget_bytes * CONTENT_SHARING:
        largest = max(totals, key=lambda kind: totals[kind] / KIND_WEIGHTS.get(kind, 1))
        dropped = random.choice(sorted(groups[largest]))
        del groups[largest][dropped]
        totals[largest] -= sizes[dropped]
    return [launch for names in groups.values() for found in names.values() for launch in found]


def _write_archive(
    path: Path, launches: list[dict[str, Any]], cubins: dict[str, bytes | str], contents: dict[str, bytes]
) -> None:
    """Writes index.json, and each different cubin and content of memory once."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for number, launch in enumerate(launches):
            launch["id"], launch["kind"] = number, kind_of(launch["origin"])
        for name in sorted({launch["ptx_sha256"] for launch in launches}):
            cubin = cubins[name]
            if isinstance(cubin, bytes):
                archive.writestr(f"cubin/{name}", cubin)
        for name in sorted({name for launch in launches for name in (*launch["before"], *launch["after"])}):
            archive.writestr(name, zlib.decompress(contents[name]))
        archive.writestr("index.json", json.dumps(launches))


def _copy_launcher(folder: Path) -> None:
    """Copies replay.py and the modules of tilec that launch artifacts."""
    sys.path.insert(0, str(HERE.parent))
    from h200_check import _copy_package

    _copy_package(folder / "tilec")
    shutil.copy(HERE / "replay.py", folder)


def _report(folder: Path, kept: list[dict[str, Any]], count: int) -> None:
    counts = Counter(launch["kind"] for launch in kept)
    marks = Counter(
        f"{name}: {value if isinstance(value, str) else ''}"
        for launch in kept
        for name, value in launch["marks"].items()
    )
    for kind, number in sorted(counts.items()):
        print(f"{number:6} {kind}")
    print("marks:", {name[:80]: number for name, number in marks.items()})
    size = (folder / "launches.zip").stat().st_size
    print(f"{len(kept)} of {count} launches, {size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("random", "samples", "pack"))
    parser.add_argument("folder", type=Path)
    for kind in ("multiplies", "programs", "exits"):
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget-bytes", type=int, default=ARCHIVE_BYTES)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if options.command == "random":
        kinds = {kind: getattr(options, kind) for kind in ("multiplies", "programs", "exits")}
        record_random(folder, kinds, options.seed, options.jobs)
    elif options.command == "samples":
        record_samples(folder)
    else:
        pack(folder, options.jobs, options.budget_bytes, options.seed)


if __name__ == "__main__":
    main()
