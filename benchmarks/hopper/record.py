"""Records simulated launches of sm_90a kernels, so that replay.py can repeat them on a GPU.

    PYTHONPATH=benchmarks/hopper python -m pytest -p launch_recorder --record-launches FOLDER tests/kernels
    python benchmarks/hopper/record.py random FOLDER --multiplies 250 --programs 150 --exits 100 --seed 1
    python benchmarks/hopper/record.py samples FOLDER       the kernels of tests/peers/cutile, exported by cuTile
    python benchmarks/hopper/record.py pack FOLDER          assembles all recorded PTX and writes FOLDER/launches.zip

The first three commands write one file per launch to FOLDER/raw, from any number of processes. `pack` keeps at most two
launches of a PTX text. FOLDER then contains launches.zip (cubins, arguments and the memory before and after each
launch), ptx.zip (the PTX by its SHA-256), replay.py and the modules of tilec that launch artifacts.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from launch_archive import ARCHIVE_BYTES, pack
from recorded_kernels import record_random, record_samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("random", "samples", "pack"))
    parser.add_argument("folder", type=Path)
    for kind in ("multiplies", "programs", "exits"):
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget-bytes", type=int, default=ARCHIVE_BYTES)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if options.command == "random":
        kinds = {kind: getattr(options, kind) for kind in ("multiplies", "programs", "exits")}
        record_random(folder, kinds, options.seed, options.jobs)
    elif options.command == "samples":
        record_samples(folder)
    else:
        pack(folder, options.jobs, options.budget_bytes, options.seed)


if __name__ == "__main__":
    main()
