"""Launches sm_90a artifacts on a Hopper GPU and holds the results against the simulator and numpy.

    python benchmarks/h200_check.py make FOLDER     where tilec is installed: compile, simulate, write everything
    python FOLDER/h200_check.py run                 where the GPU is: numpy, ml_dtypes and cuda-bindings are enough

FOLDER then holds for each kernel the artifact (.ptx, .cubin, .launch.json), its arguments and the expected results
(.npz), and the part of tilec that launches. Without a Hopper GPU `run` says what it would launch. Exit status 1 where
a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
TARGET = "sm_90a"
# What a launch needs of the package; everything else is the compiler.
PARTS = (
    "__init__.py",
    "errors.py",
    "options.py",
    "version.py",
    "runtime/*.py",
    "lowering/__init__.py",
    "lowering/tma/*.py",
)


def make(folder: Path) -> None:
    """Compiles every case, simulates it, and writes all that `run` needs to `folder`."""
    from h200_cases import cases

    import tilec

    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for case in cases():
        compiled = tilec.compile(case.source, target=TARGET, signature=case.signature)
        compiled.save(folder / case.name)
        simulated = [np.copy(argument) for argument in case.arguments]
        tilec.run(compiled, case.grid, simulated, backend="simulate")
        # .npz knows no bfloat16, so arrays travel as bytes with the type's name beside them.
        arrays = {f"argument{i}": array.view(np.uint8) for i, array in enumerate(case.arguments)}
        simulated_bytes = simulated[-1].view(np.uint8)
        np.savez(
            folder / case.name, simulated=simulated_bytes, expected=case.expected, tolerance=case.tolerance, **arrays
        )
        listed.append({"name": case.name, "grid": case.grid, "dtypes": [array.dtype.name for array in case.arguments]})
        print(f"{case.name}: compiled and simulated")
    (folder / "cases.json").write_text(json.dumps(listed, indent=1) + "\n")
    shutil.copy(__file__, folder / "h200_check.py")
    copy_package(folder / "tilec")


def copy_package(folder: Path) -> None:
    """The part of the installed package that launches, without the compiler."""
    import tilec.errors

    root = Path(tilec.errors.__file__).parent
    shutil.rmtree(folder, ignore_errors=True)
    for pattern in PARTS:
        for source in root.glob(pattern):
            target = folder / source.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    (folder / "__init__.py").write_text('"""The part of tilec that launches artifacts."""\n')


def run(folder: Path) -> int:
    """Launches every case; 1 where a result is outside of its tolerance."""
    sys.path.insert(0, str(folder))
    from tilec.errors import LaunchError
    from tilec.runtime import artifact
    from tilec.runtime.devices import device_for

    listed = json.loads((folder / "cases.json").read_text())
    try:
        device = device_for(TARGET)
    except LaunchError as error:
        print(f"{error.message}; with one it would launch:")
        for case in listed:
            metadata = artifact.load(folder / case["name"]).metadata
            print(f"  {case['name']}: entry {metadata.entry}, grid {case['grid']}, block {list(metadata.block)}")
        return 0
    print(f"on {device.name} ({device.architecture})")
    return max(check(folder, case) for case in listed)


def check(folder: Path, case: dict[str, Any]) -> int:
    """Launches one case and prints how it compares; 1 where it is wrong."""
    from tilec.runtime.artifact import load
    from tilec.runtime.launch import launch

    held = np.load(folder / f"{case['name']}.npz")
    arguments = [held[f"argument{i}"].view(dtype_named(name)) for i, name in enumerate(case["dtypes"])]
    launch(load(folder / case["name"]), case["grid"], arguments)
    result = arguments[-1]
    error = np.abs(result.astype(np.float64) - held["expected"])
    error[~np.isfinite(error)] = np.inf
    right = bool((error <= held["tolerance"]).all())
    differing = int(np.count_nonzero(result.view(np.uint8) != held["simulated"]))
    print(f"{case['name']}: {'right' if right else 'WRONG'}, largest error {error.max():.3e}", end="; ")
    print("bit for bit as simulated" if not differing else f"{differing} of {result.nbytes} bytes not as simulated")
    return 0 if right else 1


def dtype_named(name: str) -> np.dtype:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("make", "run"))
    parser.add_argument("folder", type=Path, nargs="?", default=HERE)
    options = parser.parse_args()
    if options.action == "make":
        make(options.folder)
        return 0
    return run(options.folder.resolve())


if __name__ == "__main__":
    sys.exit(main())
