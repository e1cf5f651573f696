"""ptxas starts while the compiler works, waits for the PTX, and ends with the compile; scripts stand for ptxas."""

from __future__ import annotations

import os
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import tilec as ct
from tilec.errors import TilecError, TileCompilerExecutionError, TileCompilerTimeoutError
from tilec.runtime.cubin import cubin, ptxas

PTX = "// a program\n"
# Reads its source twice, as ptxas does, and writes both texts.
COPIES = 'cat "$2" > first; cat "$2" > second; cat first second > "$4"; echo "copied $1"'


@ct.kernel
def fill(x):
    ct.store(x, (0,), ct.full((4,), 1, ct.float32))


@pytest.fixture(autouse=True)
def _new_search():
    """The executable is searched once in a process."""
    ptxas.ptxas_executable.cache_clear()
    yield
    ptxas.ptxas_executable.cache_clear()


def executable(folder: Path, body: str, version: str = "13.7") -> Path:
    """A script `ptxas`, which reports a version."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ptxas"
    path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "V{version}.1"; exit; fi\n{body}\n')
    path.chmod(0o755)
    return path


def use(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Makes an executable of the PATH the only one."""
    monkeypatch.setattr(ptxas, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")


# Until the source is a file, or for some seconds.
LATE = "for n in $(seq 500); do if [ -L kernel.ptx ]; then sleep 0.01; fi; done"


@pytest.mark.parametrize("before", ["", LATE], ids=["early", "late"])
def test_source_is_complete_whenever_it_is_opened(before: str, tmp_path: Path) -> None:
    path = executable(tmp_path, f"{before}\n{COPIES}")
    # More than a pipe holds.
    program = PTX * 20_000
    assert ptxas.run_ptxas(path, program, ["-O3"]) == (2 * program.encode(), "copied -O3")


def test_source_is_read_later_where_there_is_no_standard_input(tmp_path: Path) -> None:
    path = executable(tmp_path, f"if [ -L kernel.ptx ]; then echo no such file; exit 1; fi\n{COPIES}")
    with ptxas.WaitingPtxas(path, ["-O3"]) as waiting:
        waiting._process.wait()
        assert waiting.assemble(PTX) == (2 * PTX.encode(), "copied -O3")


def test_process_that_nobody_needs_ends(tmp_path: Path) -> None:
    with ptxas.WaitingPtxas(executable(tmp_path, COPIES), ["-O3"]) as waiting:
        process, folder = waiting._process, Path(waiting._folder.name)
        assert process.poll() is None and folder.exists()
    assert process.poll() is not None and not folder.exists()


def test_process_does_not_wait_for_a_child_that_inherited_its_input(tmp_path: Path) -> None:
    with ptxas.WaitingPtxas(executable(tmp_path, COPIES), ["-O3"]) as waiting:
        ended, end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(end)
            os.read(ended, 1)
            os._exit(0)
        found: list[bytes | None] = []
        thread = threading.Thread(target=lambda: found.append(waiting.assemble(PTX)[0]), daemon=True)
        thread.start()
        thread.join(60)
        os.close(end)
        os.waitpid(child, 0)
        os.close(ended)
        assert found == [2 * PTX.encode()]


def test_failed_compile_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @ct.kernel
    def wrong(x):
        ct.store(x, (0,), ct.full((4,), 1, ct.float32) @ 2)

    started = []
    use(monkeypatch, executable(tmp_path, COPIES))
    monkeypatch.setattr(cubin, "WaitingPtxas", lambda *given: started.append(ptxas.WaitingPtxas(*given)) or started[-1])
    with pytest.raises(TilecError):
        ct.compile(wrong, signature="x: f32[4]")
    assert [waiting._process.poll() is None for waiting in started] == [False]


def test_time_limit_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    use(monkeypatch, executable(tmp_path, "exec sleep 100"))
    monkeypatch.setattr(cubin, "WaitingPtxas", lambda *given: started.append(ptxas.WaitingPtxas(*given)) or started[-1])
    with ct.compiler_timeout(2), pytest.raises(TileCompilerTimeoutError, match="it was at stage 'cubin'"):
        ct.compile(fill, signature="x: f32[4]")
    assert [waiting._process.poll() is None for waiting in started] == [False]


def test_compile_takes_what_the_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, executable(tmp_path, 'cat "$5" > "$7"; echo "$1 $2 $3 $4"'))
    compiled = ct.compile(fill, signature="x: f32[4]", target="sm_90a")
    made = compiled.stage("cubin").value
    assert made.content.decode() == compiled.ptx
    assert (made.log, made.assembler) == ("-arch=sm_90a -lineinfo -O3 -v", "ptxas 13.7")


def test_ptxas_that_crashes_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, executable(tmp_path, "kill -SEGV $$"))
    with pytest.raises(TileCompilerExecutionError, match="ptxas refuses kernel.ptx: ptxas ended with status -11"):
        cubin.assemble(PTX, "sm_90a")


@pytest.mark.parametrize(
    ("version", "name"), [("12.9", None), ("13.0", "ptxas 13.0"), ("13.7", "ptxas 13.7")], ids=lambda value: str(value)
)
def test_version_is_asked_of_an_executable_on_the_path(
    version: str, name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older ones do not read the PTX, and others than those of nvJitLink do not wait for each compile."""
    use(monkeypatch, executable(tmp_path, COPIES, version))
    found = ptxas.ptxas_executable()
    assert (None if found is None else str(found)) == name
    with cubin.waiting_ptxas("sm_90a") as waiting:
        assert (waiting is not None) == (version == "13.7")


@pytest.mark.parametrize(
    ("names", "version"),
    [
        (["nvidia_cuda_nvcc-13.6.37.dist-info"], (13, 6)),
        (["nvidia_cuda_nvcc-13.6.37.dist-info", "nvidia_cuda_nvcc-13.5.1.dist-info"], (13, 9)),
        (["nvidia_cuda_nvcc_cu12-12.8.93.dist-info"], (13, 9)),
    ],
    ids=["of the package", "two packages", "another package"],
)
def test_version_of_a_package_needs_no_process(
    names: list[str], version: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is not certain which package has the executable, that reports its version."""
    path = executable(tmp_path / "nvidia/cu13/bin", COPIES, "13.9")
    for name in names:
        (tmp_path / name).mkdir()
    spec = ModuleSpec("nvidia", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "nvidia")]
    monkeypatch.setattr(ptxas, "find_spec", lambda name: spec)
    assert ptxas.ptxas_executable() == ptxas.Ptxas(path, version)


def test_files_that_are_no_programs_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = executable(tmp_path / "nvidia/cu13/bin", COPIES)
    path.chmod(0o644)
    spec = ModuleSpec("nvidia", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "nvidia")]
    monkeypatch.setattr(ptxas, "find_spec", lambda name: spec)
    executable(tmp_path, COPIES).write_bytes(b"\x7fELF")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ptxas.ptxas_executable() is None


def test_target_that_the_executable_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = executable(tmp_path, "echo \"ptxas fatal: Value 'sm_33' is not defined for option 'gpu-name'\" >&2; exit 1")
    use(monkeypatch, path)
    with pytest.raises(ct.CompileError, match="ptxas 13.7 does not support target 'sm_33'"):
        cubin.assemble(PTX, "sm_33")
