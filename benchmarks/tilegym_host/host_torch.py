"""torch.cuda without a GPU: tensors lie in host memory, streams and events do nothing, a target names the device."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from tilec.lowering.target import target_named

_HOST = torch.device("cpu")
# Products whose results have a type of their own exist on CUDA devices only.
_PRODUCTS = ("mm", "bmm", "matmul", "addmm", "baddbmm")
# Target -> the name of its device and its number of streaming multiprocessors.
_DEVICES = {"sm_100a": ("NVIDIA B200", 148), "sm_90a": ("NVIDIA H200", 132)}
_MEMORY_BYTES = 180 << 30


class Stream(int):
    """The default stream, which is 0: every launch is complete when it returns."""

    cuda_stream = 0
    device = _HOST

    def __new__(cls, *_arguments: object, **_options: object) -> Stream:
        return int.__new__(cls, 0)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def record_event(self, *_arguments: object) -> Event:
        return Event()

    def wait_event(self, *_arguments: object) -> None:
        pass

    synchronize = wait_stream = wait_event


class Event:
    """An event that has always occurred."""

    def __init__(self, *_arguments: object, **_options: object) -> None:
        pass

    def record(self, *_arguments: object) -> None:
        pass

    synchronize = wait = record

    def query(self) -> bool:
        return True

    def elapsed_time(self, _other: Event) -> float:
        return 1.0


class HostTensors(TorchFunctionMode):
    """Replaces CUDA devices by the host; a tensor says that it lies in device memory."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if "device" in options:
            options["device"] = _on_host(options["device"])
        if name == "cuda":
            return args[0]
        if name == "record_stream":
            return None
        if name == "__get__" and getattr(function, "__self__", None) is torch.Tensor.is_cuda:
            return True
        if name in ("to", "Generator"):
            args = tuple(map(_on_host, args))
        if name in _PRODUCTS:
            args, options = _with_operands_of_the_result(args, options)
        return function(*args, **options)


def _on_host(device: Any) -> Any:
    if isinstance(device, str) and device.startswith("cuda"):
        return _HOST
    return _HOST if isinstance(device, torch.device) and device.type == "cuda" else device


def _with_operands_of_the_result(args: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments of a product whose type is given, with operands of this type."""
    given = [each for each in args if isinstance(each, torch.dtype)]
    result = options.pop("out_dtype", None) or next(iter(given), None)
    if result is None:
        return args, options
    kept = (each for each in args if not isinstance(each, torch.dtype))
    return tuple(each.to(result) if isinstance(each, torch.Tensor) else each for each in kept), options


def install(target: str) -> None:
    """Replaces the functions of torch.cuda for the rest of the process; the device is that of the target."""
    device, processors = _DEVICES[target]
    number = target_named(target).name.removeprefix("sm_").rstrip("a")
    capability = int(number[:-1]), int(number[-1])
    properties = SimpleNamespace(
        name=device,
        major=capability[0],
        minor=capability[1],
        multi_processor_count=processors,
        total_memory=_MEMORY_BYTES,
        L2_cache_size=126 << 20,
        shared_memory_per_block_optin=227 << 10,
        shared_memory_per_multiprocessor=228 << 10,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
        warp_size=32,
    )
    values = {
        "is_available": True,
        "is_current_stream_capturing": False,
        "device_count": 1,
        "current_device": 0,
        "get_device_name": device,
        "get_device_capability": capability,
        "get_device_properties": properties,
        "mem_get_info": (_MEMORY_BYTES, _MEMORY_BYTES),
        "current_stream": Stream(),
        "default_stream": Stream(),
        "stream": Stream(),
        "device": nullcontext(),
        "device_of": nullcontext(),
        **dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"), 0),
        **dict.fromkeys(
            ("synchronize", "empty_cache", "set_device", "manual_seed", "manual_seed_all", "reset_peak_memory_stats")
        ),
    }
    for name, value in values.items():
        setattr(torch.cuda, name, _returning(value))
    torch.cuda.get_rng_state = lambda *_: torch.get_rng_state()
    torch.cuda.set_rng_state = lambda state, *_: torch.set_rng_state(state)
    torch.cuda.Stream, torch.cuda.Event = Stream, Event  # type: ignore[misc, assignment]
    HostTensors().__enter__()


def _returning(value: Any) -> Any:
    return lambda *_arguments, **_options: value
