"""Compiled kernels are kept on disk: equal compiles read them, other compiles and damaged files do not."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tilec as ct
from tilec import cache_files, installation, version
from tilec.commands.command_line import main
from tilec.compile_options import CompileOptions
from tilec.driver import disk_cache
from tilec.driver.compiled import Compiled
from tilec.driver.disk_cache import Request, kept_or_compiled
from tilec.errors import SourceLocation
from tilec.remarks import Remark
from tilec.signature import parse


@ct.kernel
def double(x, tile: ct.Constant[int]):
    ct.store(x, (0,), ct.load(x, (0,), (tile,)) * 2)


@ct.kernel(occupancy=2)
def hinted(x, tile: ct.Constant[int]):
    ct.store(x, (0,), ct.load(x, (0,), (tile,)) * 2)


STATE = threading.local()


@ct.kernel
def of_unknown_state(x, tile: ct.Constant[int]):
    ct.static_assert(STATE is not None)
    ct.store(x, (0,), ct.load(x, (0,), (tile,)))


def request(kernel: ct.kernel = double, text: str = "x: f32[?], tile=4", **changes: object) -> Request:
    made = Request(kernel, parse(text).bind(kernel), "sm_100a", CompileOptions(), "cubin")
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    """A compiled kernel with remarks, one of them without a location."""
    made = ct.compile(double, signature="x: f32[?], tile=4", target="sm_100a")
    remarks = (Remark("tma", "one", SourceLocation("k.py", 3, 4, 9), percent=12.5), Remark("hint", "two"))
    return dataclasses.replace(made, found_remarks=remarks)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the entries, in a cache folder of 1 MiB."""
    monkeypatch.setenv("TILEC_CACHE", str(tmp_path))
    monkeypatch.setenv("TILEC_CACHE_SIZE", str(1 << 20))
    return tmp_path / "kernels"


class Compiler:
    """Counts the compiles that the cache does not avoid."""

    def __init__(self, result: Compiled) -> None:
        self.result = result
        self.runs = 0

    def __call__(self) -> Compiled:
        self.runs += 1
        return self.result


@pytest.fixture
def compiler(compiled: Compiled) -> Compiler:
    return Compiler(compiled)


def entry(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def test_second_compile_reads_the_first(compiler: Compiler, compiled: Compiled) -> None:
    assert kept_or_compiled(request(), compiler) is compiled
    kept = kept_or_compiled(request(), compiler)
    assert compiler.runs == 1
    assert (kept.ptx, kept.cubin, kept.all_remarks) == (compiled.ptx, compiled.cubin, compiled.all_remarks)
    assert kept.artifact == compiled.artifact
    assert kept.target == compiled.target
    cubin, read = compiled.stage("cubin"), kept.stage("cubin")
    assert cubin is not None and read is not None and read.value == cubin.value


OTHER_REQUESTS = {
    "target": {"target": "sm_90a"},
    "option": {"options": CompileOptions(stages=3)},
    "last stage": {"stop": "ptx"},
    "kernel": {"kernel": hinted},
    "constant": {"text": "x: f32[?], tile=8"},
    "type of a constant": {"text": "x: f32[?], tile=4.0"},
    "element type": {"text": "x: f16[?], tile=4"},
    "alignment": {"text": "x: f32[?] align 4, tile=4"},
}


@pytest.mark.parametrize("name", OTHER_REQUESTS)
def test_other_request_compiles(name: str, compiler: Compiler) -> None:
    kept_or_compiled(request(), compiler)
    kept_or_compiled(request(**OTHER_REQUESTS[name]), compiler)  # type: ignore[arg-type]
    assert compiler.runs == 2


def test_other_installation_compiles(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_or_compiled(request(), compiler)
    monkeypatch.setattr(disk_cache, "fingerprint", lambda: "another version")
    kept_or_compiled(request(), compiler)
    assert compiler.runs == 2


def test_other_toolkit_compiles(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_or_compiled(request(), compiler)
    monkeypatch.setenv("CUDA_HOME", "/another/toolkit")
    kept_or_compiled(request(), compiler)
    assert compiler.runs == 2


def test_other_ptxas_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = installation.fingerprint.__wrapped__()
    monkeypatch.setenv("PATH", str(tmp_path))
    without = installation.fingerprint.__wrapped__()
    (tmp_path / "ptxas").write_text("an executable")
    assert len({known, without, installation.fingerprint.__wrapped__()}) == 3


def test_files_that_changed_after_the_import_are_of_no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    # The process may run the code from before the change.
    known = installation.fingerprint.__wrapped__()
    monkeypatch.setattr(version, "IMPORTED_NS", 1)
    first = installation.fingerprint.__wrapped__()
    monkeypatch.setattr(version, "IMPORTED_NS", 2)
    assert len({known, first, installation.fingerprint.__wrapped__()}) == 3


def test_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "entry"
    cache_files.write(file, bytes(range(256)))
    content = file.read_bytes()
    for length in range(len(content)):
        file.write_bytes(content[:length])
        assert cache_files.read(file) is None
    file.write_bytes(content)
    assert cache_files.read(file) == bytes(range(256))


@pytest.mark.parametrize("damage", [b"", b"\0", "truncated", "changed", "extended", "folder"])
def test_damaged_file_is_compiled_again(damage: bytes | str, compiler: Compiler, cache: Path) -> None:
    kept_or_compiled(request(), compiler)
    file = entry(cache)
    content = file.read_bytes()
    damaged = {
        "truncated": content[:-1],
        "changed": content[:-1] + bytes([content[-1] ^ 1]),
        "extended": content + b"\0",
    }
    file.unlink()
    if damage == "folder":
        file.mkdir()
    else:
        file.write_bytes(damaged[damage] if isinstance(damage, str) else damage)
    if damage == "folder":
        with pytest.warns(RuntimeWarning, match="compiled kernels are not kept on disk"):
            cache_files._WARNED.clear()
            kept_or_compiled(request(), compiler)
        return
    kept_or_compiled(request(), compiler)
    assert (compiler.runs, file.read_bytes()) == (2, content)


def test_folder_that_cannot_be_written_is_reported_once(compiler: Compiler, cache: Path) -> None:
    cache.write_text("a file in place of the folder")
    cache_files._WARNED.clear()
    with pytest.warns(RuntimeWarning, match="compiled kernels are not kept on disk: cannot write") as caught:
        for _ in range(2):
            kept_or_compiled(request(), compiler)
    assert (compiler.runs, len(caught)) == (2, 1)


def test_least_recently_used_entries_are_removed(
    compiler: Compiler, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts(count: int) -> list[str]:
        return [f"x: f32[?], tile={1 << power}" for power in range(count)]

    for text in texts(3):
        kept_or_compiled(request(text=text), compiler)
    first, second, third = (found.path for found in disk_cache.entries())
    os.utime(first)
    size = first.stat().st_size
    # Three entries fit; the sizes differ by the digits of the tile.
    monkeypatch.setenv("TILEC_CACHE_SIZE", str(3 * size + 100))
    kept_or_compiled(request(text="x: f32[?], tile=8"), compiler)
    remaining = {found.path for found in disk_cache.entries()}
    assert len(remaining) == 3 and second not in remaining and {first, third} < remaining


def test_use_of_an_entry_delays_its_removal(compiler: Compiler, cache: Path) -> None:
    kept_or_compiled(request(), compiler)
    os.utime(entry(cache), ns=(0, 0))
    kept_or_compiled(request(), compiler)
    assert entry(cache).stat().st_mtime_ns > 0


@pytest.mark.parametrize(("variable", "value"), [("TILEC_CACHE_SIZE", "0"), ("TILEC_DUMP", "dump")])
def test_cache_is_not_used_with(
    variable: str, value: str, compiler: Compiler, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    for _ in range(2):
        kept_or_compiled(request(), compiler)
    assert compiler.runs == 2 and not cache.exists()


def test_interpreted_kernels_are_not_kept(compiler: Compiler, cache: Path) -> None:
    kept_or_compiled(request(stop="tile"), compiler)
    assert not cache.exists()


def test_kernel_of_unknown_state_is_compiled_with_a_remark(compiler: Compiler, cache: Path) -> None:
    for _ in range(2):
        remarks = kept_or_compiled(request(of_unknown_state), compiler).all_remarks
    assert compiler.runs == 2 and not cache.exists()
    assert "[cache]" in str(remarks[-1]) and "'STATE', which 'of_unknown_state' reads," in remarks[-1].message
    assert remarks[-1].location == of_unknown_state.location


COUNTER = [0]


@ct.kernel
def counts(x):
    ct.store(x, (0,), ct.full((4,), COUNTER[0], ct.float32))


def test_kernel_whose_compile_changes_what_it_reads_is_not_kept(compiled: Compiled, cache: Path) -> None:
    def compile() -> Compiled:
        COUNTER[0] += 1
        return compiled

    kept_or_compiled(request(counts, "x: f32[?]"), compile)
    assert not cache.exists()


PROGRAM = """
import sys

import numpy as np
import tilec as ct

@ct.kernel
def double(x, tile: ct.Constant[int]):
    ct.store(x, (0,), ct.load(x, (0,), (tile,)) * 2)

x = np.ones(4, np.float32)
ct.launch(None, 1, double, (x, 4), backend="simulate")
assert x.tolist() == [2, 2, 2, 2]
print(*sys.modules)
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    """The command of a program that launches a kernel and prints the modules that it has loaded."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return [sys.executable, str(file)]


def loaded_by(command: list[str]) -> set[str]:
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def test_second_process_loads_no_compiler(program: list[str]) -> None:
    compiler = {"torch_mlir", "tilec.dialect.mlir", "tilec.ast_to_tile.tracer", "cuda.bindings.driver", "ml_dtypes"}
    first = loaded_by(program)
    assert {"tilec.dialect.mlir", "tilec.ast_to_tile.tracer"} < first
    assert compiler & loaded_by(program) == set()


def test_processes_share_the_cache(program: list[str], cache: Path) -> None:
    processes = [subprocess.Popen(program, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert entry(cache).suffix == disk_cache.SUFFIX


def test_command_lists_and_removes_the_entries(
    compiler: Compiler, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept_or_compiled(request(), compiler)
    assert main(["cache", "list"]) == main(["cache"]) == main(["cache", "clear"]) == main(["cache", "size"]) == 0
    listed, size, cleared, empty = capsys.readouterr().out.splitlines()
    assert listed.endswith("sm_100a   double(x: f32[?%1] strides (1) align 16, tile=4)"), listed
    assert size.startswith("1 kernels, 0.0 of at most 1 MiB, in")
    assert cleared == f"removed 1 kernels from {cache}"
    assert empty.startswith("0 kernels")


def test_size_must_be_a_number(monkeypatch: pytest.MonkeyPatch, compiler: Compiler) -> None:
    monkeypatch.setenv("TILEC_CACHE_SIZE", "1G")
    with pytest.raises(ct.TileError, match="TILEC_CACHE_SIZE: expected a number of bytes, got '1G'"):
        kept_or_compiled(request(), compiler)
