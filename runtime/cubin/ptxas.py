"""The executable ptxas, which assembles a whole program; nvJitLink compiles relocatable code only."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tilec import options

# The first version that reads the PTX of tilec (lowering/ptx/emit.py).
_LEAST_VERSION = (13, 0)
_VERSION = re.compile(r"\bV(\d+)\.(\d+)")
_DISTRIBUTION = re.compile(r"nvidia_cuda_nvcc-(\d+)\.(\d+).*\.dist-info$")
# Memory in huge pages, and much of it at a time, takes a tenth less time: ptxas 13.5 has 5000 page faults for a GEMM.
_TUNABLES = "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864"
_SOURCE, _PROGRAM, _CUBIN = "kernel.ptx", "program.ptx", "kernel.cubin"


@dataclass(frozen=True)
class Ptxas:
    """An executable ptxas, and its version."""

    path: Path
    version: tuple[int, int]

    def __str__(self) -> str:
        return f"ptxas {self.version[0]}.{self.version[1]}"


@cache
def ptxas_executable() -> Ptxas | None:
    """The first executable that reads our PTX: of the packages of NVIDIA for Python, then of the PATH."""
    spec = find_spec("nvidia")
    folders = [] if spec is None else spec.submodule_search_locations or []
    packaged = [path for folder in folders for path in sorted(Path(folder).glob("*/bin/ptxas"))]
    for path in itertools.chain((path for path in packaged if os.access(path, os.X_OK)), _on_path()):
        version = _version_of_package(path) or _reported_version(path)
        if version is not None and version >= _LEAST_VERSION:
            return Ptxas(path, version)
    return None


def _on_path() -> Iterator[Path]:
    # Searched only where no package has one: the folders of the PATH are many.
    if found := shutil.which("ptxas"):
        yield Path(found)


def _version_of_package(path: Path) -> tuple[int, int] | None:
    """The version of nvidia-cuda-nvcc if it contains an executable; ptxas takes 5 ms to report it.

    Its packages from 13.0 on have their files in site-packages/nvidia/cu13.
    """
    if path.parts[-4:-1] != ("nvidia", "cu13", "bin"):
        return None
    names = os.listdir(path.parents[3])
    found = [match for name in names if (match := _DISTRIBUTION.match(name))]
    return (int(found[0][1]), int(found[0][2])) if len(found) == 1 else None


def _reported_version(path: Path) -> tuple[int, int] | None:
    try:
        report = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    found = _VERSION.search(report)
    return None if found is None else (int(found[1]), int(found[2]))


def run_ptxas(executable: Path, ptx: str, flags: Sequence[str]) -> tuple[bytes | None, str]:
    """The cubin of PTX text, None if ptxas refuses it, and the messages of ptxas."""
    with WaitingPtxas(executable, flags) as waiting:
        return waiting.assemble(ptx)


class WaitingPtxas:
    """A process of ptxas that waits for its program: a sixth of the time for a GEMM is over before the PTX is known.

    ptxas reads its source twice: for the machine code, and for the section with the PTX text that debuggers show. So
    the source is a link to the standard input until the program is known, then a file with it.
    """

    def __init__(self, executable: Path, flags: Sequence[str]) -> None:
        self._command = [str(executable), *flags, _SOURCE, "-o", _CUBIN]
        self._folder = tempfile.TemporaryDirectory(prefix="tilec-ptxas-")
        Path(self._folder.name, _SOURCE).symlink_to("/dev/stdin")
        try:
            self._process = self._started()
        except OSError:
            self._folder.cleanup()
            raise
        _waiting.add(self)

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            cwd=self._folder.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=options.environment_with({"GLIBC_TUNABLES": _TUNABLES}),
        )

    def assemble(self, ptx: str) -> tuple[bytes | None, str]:
        """The cubin of PTX text, None if ptxas refuses it, and the messages of ptxas; called once."""
        program = ptx.encode()
        Path(self._folder.name, _PROGRAM).write_bytes(program)
        # ptxas that has not opened its source yet reads the file, and another one the same text from its input.
        os.replace(Path(self._folder.name, _PROGRAM), Path(self._folder.name, _SOURCE))
        if (ended := self._process).poll() is not None:
            # Without /dev/stdin, as in some containers, ptxas has found no source. The statement closes its pipes.
            with ended:
                self._process = self._started()
        output = b"".join(self._process.communicate(program)).decode(errors="replace").strip()
        if self._process.returncode != 0:
            return None, output or f"ptxas ended with status {self._process.returncode}"
        return Path(self._folder.name, _CUBIN).read_bytes(), output

    def close_input(self) -> None:
        """Closes the input in a process that inherited it: else ptxas would wait for that process too."""
        assert self._process.stdin is not None, "the input is a pipe"
        self._process.stdin.close()

    def __enter__(self) -> WaitingPtxas:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process if it still runs, and removes its files."""
        _waiting.discard(self)
        # The statement closes the pipes, and waits for the process.
        with self._process:
            if self._process.poll() is None:
                self._process.kill()
        self._folder.cleanup()


_waiting: weakref.WeakSet[WaitingPtxas] = weakref.WeakSet()


def _close_inherited() -> None:
    for waiting in list(_waiting):
        waiting.close_input()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
