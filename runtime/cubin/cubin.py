"""Assembly of PTX to cubin, by the executable ptxas or in process by nvJitLink; needs neither GPU nor driver."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from tilec.errors import CompileError, Note, TileCompilerExecutionError
from tilec.process.cuda_bindings import cuda_binding
from tilec.process.time_limit import run_in_time
from tilec.runtime.cubin.cubin_image import SERIALIZED, Cubin
from tilec.runtime.cubin.ptxas import WaitingPtxas, ptxas_executable, run_ptxas

nvjitlink = cuda_binding("nvjitlink")

DEFAULT_OPT_LEVEL = 3
# That of nvJitLink (pyproject.toml): older ones have bugs (docs/hardware.md).
_PREFERRED_VERSION = (13, 5)


def assemble(
    ptx: str,
    target: str,
    name: str = "kernel.ptx",
    opt_level: int = DEFAULT_OPT_LEVEL,
    waiting: WaitingPtxas | None = None,
) -> Cubin:
    """The cubin of PTX text for `target`, with line information.

    The executable ptxas assembles it if there is one of the version of nvJitLink, or a later one: it takes less time,
    since it compiles the program as a whole. nvJitLink compiles relocatable code, in which it ignores setmaxnreg
    (message C7504), and makes calls of divisions, between which multiplies of warpgroups wait (C7509): of such PTX an
    older ptxas makes the cubin too. `waiting` is a process of `waiting_ptxas` for the same target and level.

    Raises TileCompilerExecutionError with the messages of ptxas and the lines of `name` they refer to, and
    TileCompilerTimeoutError if the time of the compile is over.
    """
    executable = ptxas_executable()
    if executable is not None and executable.version < _PREFERRED_VERSION and "setmaxnreg" not in ptx:
        linked = link({name: ptx}, target, opt_level)
        if not any(SERIALIZED in warning for warning in linked.warnings):
            return linked
    if executable is None:
        return link({name: ptx}, target, opt_level)
    flags = _ptxas_flags(target, opt_level)
    run = waiting.assemble if waiting is not None else partial(run_ptxas, executable.path, flags=flags)
    content, log = run_in_time(lambda: run(ptx), " ".join(flags), str(executable))
    if content is None and "is not defined for option 'gpu-name'" in log:
        raise CompileError(f"{executable} does not support target '{target}'")
    if content is None:
        raise _ptxas_error(log, {name: ptx}, flags, str(executable))
    return _with_usage(content, log, str(executable))


@contextmanager
def waiting_ptxas(target: str, opt_level: int = DEFAULT_OPT_LEVEL) -> Iterator[WaitingPtxas | None]:
    """A process of ptxas for `assemble`, which starts while the caller makes the PTX; None without a preferred one."""
    executable = ptxas_executable()
    if executable is None or executable.version < _PREFERRED_VERSION:
        yield None
        return
    with WaitingPtxas(executable.path, _ptxas_flags(target, opt_level)) as waiting:
        yield waiting


def link(texts: Mapping[str, str], target: str, opt_level: int = DEFAULT_OPT_LEVEL) -> Cubin:
    """One cubin of several PTX texts by name, like `assemble`."""
    flags = _flags(target, opt_level)
    return run_in_time(lambda: _linked(texts, target, flags), " ".join(flags), assembler_version())


def _linked(texts: Mapping[str, str], target: str, flags: list[str]) -> Cubin:
    handle = _create(target, flags)
    try:
        for name, ptx in texts.items():
            encoded = ptx.encode()
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, encoded, len(encoded), name)
        nvjitlink.complete(handle)
        content = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, content)
        log = _log(handle, nvjitlink.get_info_log_size, nvjitlink.get_info_log)
        return _with_usage(bytes(content), log, assembler_version())
    except nvjitlink.nvJitLinkError as error:
        log = _log(handle, nvjitlink.get_error_log_size, nvjitlink.get_error_log)
        raise _ptxas_error(log or str(error), texts, flags, assembler_version()) from None
    finally:
        nvjitlink.destroy(handle)


def assembler_version() -> str:
    """The name and version of the assembler, as `nvJitLink 13.5`."""
    major, minor = nvjitlink.version()
    return f"nvJitLink {major}.{minor}"


def _flags(target: str, opt_level: int) -> list[str]:
    # nvJitLink itself accepts -O0 and -O3 only.
    return [f"-arch={target}", "-lineinfo", f"-Xptxas=-O{opt_level}", "-verbose"]


def _ptxas_flags(target: str, opt_level: int) -> list[str]:
    return [f"-arch={target}", "-lineinfo", f"-O{opt_level}", "-v"]


def _create(target: str, flags: list[str]) -> int:
    try:
        return nvjitlink.create(len(flags), flags)
    except nvjitlink.nvJitLinkError as error:
        raise CompileError(f"nvJitLink does not support target '{target}': {error}") from None


def _log(handle: int, size_of: Callable[[int], int], read: Callable[[int, bytearray], None]) -> str:
    text = bytearray(size_of(handle))
    read(handle, text)
    return text.rstrip(b"\0").decode(errors="replace").strip()


_USAGE = re.compile(r"Used (\d+) registers")
_SPILL = re.compile(r"(\d+) bytes spill (?:stores|loads)")
# "ptxas warning : ...", and "ptxas info    : (C7510) Potential Performance Loss: ...".
_WARNING = re.compile(r"^(?:ptxas )?.*?(?:warning *: *|info *: *(?=\(C75\d\d\)))(.*)$", re.MULTILINE)


def _with_usage(content: bytes, log: str, version: str) -> Cubin:
    registers = max((int(count) for count in _USAGE.findall(log)), default=0)
    spill_bytes = sum(int(count) for count in _SPILL.findall(log))
    return Cubin(content, log, registers, spill_bytes, tuple(_WARNING.findall(log)), version)


# "ptxas application ptx input, line 7; error   : Unknown modifier '.foo'", "error   : Entry function 'f' uses too ..."
_ERROR = re.compile(r"^(?:ptxas .*?line (?P<line>\d+); *)?(?:error|fatal) *: *(?P<text>.*)$", re.MULTILINE)


def _ptxas_error(log: str, texts: Mapping[str, str], flags: list[str], version: str) -> TileCompilerExecutionError:
    errors = [(match["line"], match["text"]) for match in _ERROR.finditer(log)]
    # The log does not say which of several texts a line is in.
    name, lines = ", ".join(texts), "".join(texts.values()).splitlines() if len(texts) == 1 else []
    located = [(int(line), text) for line, text in errors if line and lines]
    return TileCompilerExecutionError(
        f"ptxas refuses {name}: {errors[0][1] if errors else log}",
        notes=[Note(f"{name}:{line}: {text}: {lines[line - 1].strip()}") for line, text in located],
        compiler_flags=" ".join(flags),
        compiler_version=version,
    )
