"""CUDA C++ to PTX text by NVRTC, in process; no GPU and no driver is needed."""

from __future__ import annotations

from typing import Any

from cuda.bindings import nvrtc

from tilec.errors import InternalError

# sm_90 instructions run on every target of ours, so one compilation serves them all. Relocatable device code keeps
# functions that nothing calls; the defaults for rounding (no flush to zero, fused multiply-add) are spelled out.
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
    """The PTX of a CUDA C++ source; InternalError quotes NVRTC, since the sources are ours."""
    (program,) = _checked(nvrtc.nvrtcCreateProgram(source.encode(), b"tilec.cu", 0, [], []))
    try:
        options = [option.encode() for option in OPTIONS]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            raise InternalError(f"NVRTC refuses a device function of tilec: {log}")
        return _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _checked(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    if answer[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise InternalError(f"NVRTC fails: {answer[0].name}")
    return answer[1:]


def _text(size_of: Any, read: Any, program: Any) -> str:
    (size,) = _checked(size_of(program))
    buffer = b" " * size
    _checked(read(program, buffer))
    return buffer.rstrip(b"\0").decode()
