"""`tilec info`: shows the versions of packages, the GPUs, and the default target and backend."""

from __future__ import annotations

import argparse
import platform
from importlib import metadata
from typing import Any

from tilec import options
from tilec.commands import json_output
from tilec.errors import LaunchError
from tilec.runtime.devices.devices import Device, device_for, devices
from tilec.version import VERSION

PACKAGES = (
    "numpy",
    "ml_dtypes",
    "torch-mlir",
    "mlir-python-bindings",
    "cuda-bindings",
    "nvidia-nvjitlink",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvcc",
)
PEERS = ("cuda-tile", "nvidia-cuda-tileiras", "triton")


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""


def run(arguments: argparse.Namespace) -> None:
    """Prints one fact per line; does not need a GPU."""
    settings, found = options.from_environment(), devices()
    versions = {name: _version(name) for name in (*PACKAGES, *PEERS)}
    backend = {"host": settings.backend or "simulate", "device": _device_backend(settings, found)}
    if arguments.json:
        gpus = [{"ordinal": gpu.ordinal, "name": gpu.name, "architecture": gpu.architecture} for gpu in found]
        _write_json({"packages": versions, "gpus": gpus, "target": settings.target, "backend": backend})
        return
    print(f"tilec       {VERSION}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    for name, version in versions.items():
        print(f"{name:24}{version or 'not installed'}")
    for device in found:
        print(f"GPU {device.ordinal}       {device.name} ({device.architecture})")
    if not found:
        print("GPU         none")
    print(f"target      {settings.target}")
    print(f"backend     host arrays: {backend['host']}; device arrays: {backend['device']}")


def _write_json(fields: dict[str, Any]) -> None:
    system = {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine()}
    json_output.write("info", {"version": VERSION, **system, **fields})


def _device_backend(settings: options.Options, found: tuple[Device, ...]) -> str:
    if not found:
        return "none without a GPU"
    try:
        return f"{settings.backend or 'launch'} on {device_for(settings.target).name}"
    except LaunchError as error:
        return error.message


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
