"""`tilec info`: shows the versions of packages, the GPUs, and the default target and backend."""

from __future__ import annotations

import argparse
import platform
from importlib import metadata

from tilec import options
from tilec.errors import LaunchError
from tilec.runtime.devices import Device, device_for, devices
from tilec.version import VERSION

PACKAGES = (
    "numpy",
    "ml_dtypes",
    "torch-mlir",
    "mlir-python-bindings",
    "cuda-bindings",
    "nvidia-nvjitlink",
    "nvidia-cuda-nvrtc",
)
PEERS = ("cuda-tile", "nvidia-cuda-tileiras", "triton")


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""


def run(_arguments: argparse.Namespace) -> None:
    """Prints one fact per line; does not need a GPU."""
    settings = options.from_environment()
    print(f"tilec       {VERSION}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    for name in (*PACKAGES, *PEERS):
        print(f"{name:24}{_version(name)}")
    found = devices()
    for device in found:
        print(f"GPU {device.ordinal}       {device.name} ({device.architecture})")
    if not found:
        print("GPU         none")
    print(f"target      {settings.target}")
    print(
        f"backend     host arrays: {settings.backend or 'simulate'}; device arrays: {_device_backend(settings, found)}"
    )


def _device_backend(settings: options.Options, found: tuple[Device, ...]) -> str:
    if not found:
        return "none without a GPU"
    try:
        return f"{settings.backend or 'launch'} on {device_for(settings.target).name}"
    except LaunchError as error:
        return error.message


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
