"""Launches sm_90a artifacts on a Hopper GPU and compares the results with the simulator and numpy.

Then checks native launches in streams, graphs and threads, and prints the processor time of a launch.

    python benchmarks/h200_check.py                 both steps on one machine, in the folder out/h200
    python benchmarks/h200_check.py make FOLDER     on a machine with tilec: compile, simulate, write FOLDER
    python FOLDER/h200_check.py run                 on a machine with the GPU, numpy, ml_dtypes and cuda-bindings

FOLDER contains the artifact (.ptx, .cubin, .launch.json) and the simulated result of each kernel, and the modules of
tilec that launch artifacts, those of native launches for the version of Python that made it. Without a Hopper GPU `run`
prints the launches. The exit status is 1 if a result is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
from h200_cases import Case, cases
from h200_launches import CHECKS, described, run_folder

HERE = Path(__file__).resolve().parent
TARGET = "sm_90a"
# The modules that a launch needs; all others are the compiler.
PARTS = (
    *("errors.py", "element_types.py", "frozen.py", "hashing.py", "options.py", "version.py"),
    *("runtime/*.py", "runtime/arguments/*.py", "runtime/artifact/*.py", "runtime/cubin/*.py", "runtime/devices/*.py"),
    *("runtime/launch/*.py", "runtime/tensor_maps/*.py", "runtime/dispatch/_dispatch*"),
    *("lowering/__init__.py", "lowering/target.py", "lowering/tma/*.py"),
    *("process/__init__.py", "process/cuda_bindings.py"),
)


def make(folder: Path) -> None:
    """Compiles and simulates every case, and writes the files that `run` needs to `folder`."""
    import tilec
    from tilec.runtime.artifact import artifact

    folder.mkdir(parents=True, exist_ok=True)
    for case in cases():
        compiled = tilec.compile(case.source, target=TARGET, signature=case.signature)
        artifact.save(compiled.artifact, folder / case.name)
        arguments = [np.copy(argument) for argument in case.arguments]
        tilec.run(compiled, case.grid, arguments, backend="simulate")
        # A .npy file does not store the type bfloat16, so the result is written as bytes.
        np.save(folder / f"{case.name}.simulated.npy", arguments[-1].view(np.uint8))
        print(f"{case.name}: compiled and simulated")
    for file in ("h200_check.py", "h200_cases.py", "h200_launches.py"):
        shutil.copy(HERE / file, folder)
    copy_package(folder / "tilec")


def copy_package(folder: Path) -> None:
    """Copies the modules of the installed package that launch artifacts."""
    import tilec

    shutil.rmtree(folder, ignore_errors=True)
    for root in map(Path, tilec.__path__):
        for source in (found for pattern in PARTS for found in root.glob(pattern)):
            target = folder / source.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    (folder / "__init__.py").write_text('"""The modules of tilec that launch artifacts."""\n')


def run(folder: Path) -> int:
    """Launches every case; returns 1 if a result exceeds its tolerance."""
    sys.path.insert(0, str(folder))
    from tilec.errors import LaunchError
    from tilec.runtime.devices.devices import device_for

    try:
        device = device_for(TARGET)
    except LaunchError as error:
        print(f"{error.message}; launches on such a GPU:")
        for case in cases():
            print(f"  {_described(folder, case)}")
        print("checks of native launches on such a GPU:")
        for check in CHECKS:
            print(f"  {described(check)}")
        return 0
    print(f"on {device.name} ({device.architecture})")
    results = max(_check(folder, case) for case in cases())
    return max(results, run_folder(folder, device.ordinal))


def _described(folder: Path, case: Case) -> str:
    from tilec.runtime.artifact.artifact import load

    metadata = load(folder / case.name).metadata
    shapes = ", ".join(f"{array.dtype.name}{list(array.shape)}" for array in case.arguments)
    return f"{case.name}: grid {list(case.grid)}, block {list(metadata.block)}, arguments {shapes}"


def _check(folder: Path, case: Case) -> int:
    """Launches one case and prints the comparison; returns 1 if the result exceeds its tolerance."""
    from tilec.runtime.artifact.artifact import load
    from tilec.runtime.launch.launch import launch

    arguments = [np.copy(argument) for argument in case.arguments]
    launch(load(folder / case.name), case.grid, arguments)
    result = arguments[-1]
    error = np.abs(result.astype(np.float64) - case.expected)
    error[~np.isfinite(error)] = np.inf
    passed = bool((error <= case.tolerance).all())
    simulated = np.load(folder / f"{case.name}.simulated.npy")
    differing = int(np.count_nonzero(result.view(np.uint8) != simulated))
    print(f"{case.name}: {'PASSED' if passed else 'FAILED'}, largest error {error.max():.3e}", end="; ")
    print(f"{differing} of {result.nbytes} bytes differ from the simulator")
    return 0 if passed else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("make", "run"), nargs="?", help="(default: both)")
    parser.add_argument("folder", type=Path, nargs="?", help="of the kernels")
    options = parser.parse_args()
    if options.action == "run":
        folder = options.folder or HERE
        if not (folder / "tilec").is_dir():
            parser.error(f"argument folder: expected a folder that make wrote, but {folder} has no tilec")
        return run(folder.resolve())
    folder = options.folder or Path("out/h200")
    make(folder)
    return 0 if options.action == "make" else run(folder.resolve())


if __name__ == "__main__":
    sys.exit(main())
