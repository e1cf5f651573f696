"""CUDA C++ to PTX text by NVRTC, in process; no GPU and no driver is needed."""

from __future__ import annotations

from typing import Any

from tilec.errors import InternalError
from tilec.process.cuda_bindings import cuda_binding

nvrtc = cuda_binding("nvrtc")

# sm_90 instructions run on every supported target, so one compilation serves all. Relocatable device code keeps
# uncalled functions. The rounding options are the defaults, written out.
OPTIONS = (
    "--gpu-architecture=compute_90",
    "--relocatable-device-code=true",
    "--ftz=false",
    "--fmad=true",
    "--prec-div=true",
    "--prec-sqrt=true",
)


def version() -> str:
    """The version of NVRTC, as 13.5."""
    return "{}.{}".format(*_checked(nvrtc.nvrtcVersion()))


def compile_to_ptx(source: str) -> str:
    """The PTX of a CUDA C++ source; raises InternalError with NVRTC's log, because the sources are part of tilec."""
    (program,) = _checked(nvrtc.nvrtcCreateProgram(source.encode(), b"tilec.cu", 0, [], []))
    try:
        options = [option.encode() for option in OPTIONS]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            raise InternalError(f"NVRTC cannot compile a device function of tilec: {log}")
        return _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _checked(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    if answer[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise InternalError(f"NVRTC failed: {answer[0].name}")
    return answer[1:]


def _text(size_of: Any, read: Any, program: Any) -> str:
    (size,) = _checked(size_of(program))
    buffer = b" " * size
    _checked(read(program, buffer))
    return buffer.rstrip(b"\0").decode()
