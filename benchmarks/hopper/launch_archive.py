"""The archive of recorded launches: cubins, arguments, and the memory before and after each launch."""

from __future__ import annotations

import json
import pickle
import shutil
import struct
import sys
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import Any

from launch_recorder import LAUNCHES_PER_PTX, TARGET

from tilec.errors import TilecError
from tilec.hashing import sha256

HERE = Path(__file__).resolve().parent
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
    from tilec.runtime.cubin.cubin import assemble

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
    from h200_check import copy_package

    copy_package(folder / "tilec")
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
