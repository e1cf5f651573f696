"""Measures the constants of the cost model on a Hopper GPU.

    python benchmarks/hopper/constants.py make FOLDER    here: compiles the probes by ptxas
    python benchmarks/hopper/constants.py check          here: runs each measurement in tilec's simulator
    python benchmarks/hopper/constants.py run FOLDER     on the GPU: one row per quantity; needs numpy and cuda-bindings

`run` works in a child process, which prints a line of JSON for each row. A measurement without a new row for 15 s ends
its child, and a new one goes on with the next measurement.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from machine import Gpu, Machine, launch_record
from measurements import MEASUREMENTS, Measured
from probes import PROBES

_TIMEOUT_S = 15
# Until the child has loaded the driver and has its memory.
_START_TIMEOUT_S = 40
_LIMIT_S = 150


def make(folder: Path) -> None:
    """Compiles each probe to folder/NAME.cubin, and writes folder/index.json."""
    from tilec.lowering.model.constants import DEVICES, QUANTITIES

    folder.mkdir(parents=True, exist_ok=True)
    for probe in PROBES.values():
        source = folder / f"{probe.name}.ptx"
        source.write_text(probe.text)
        command = ["ptxas", "-arch=sm_90a", "-v", str(source), "-o", str(source.with_suffix(".cubin"))]
        messages = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        if "(C75" in messages or "(C76" in messages:
            raise SystemExit(f"ptxas changes the multiplies of {probe.name}:\n{messages}")
    models = {name: vars(device) for name, device in DEVICES.items()}
    units = {quantity.name: quantity.unit for quantity in QUANTITIES}
    probes = {probe.name: launch_record(probe) for probe in PROBES.values()}
    index = {"probes": probes, "models": models, "units": units}
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    print(f"{len(PROBES)} probes in {folder}")


def check(names: list[str]) -> int:
    """Runs the measurements in the simulator with two seeds; returns the number of those that fail."""
    from simulated import Simulated

    failures = 0
    for measurement in MEASUREMENTS:
        if names and measurement.__name__ not in names:
            continue
        before = time.monotonic()
        try:
            rows = [sum(1 for _ in measurement(Simulated(seed))) for seed in (0, 1)]
            print(f"{measurement.__name__}: {rows[0]} rows, {time.monotonic() - before:.1f} s", flush=True)
        except Exception:
            failures += 1
            print(f"{measurement.__name__}: FAILED\n{traceback.format_exc()}", flush=True)
    return failures


def _row(measured: Measured) -> dict[str, Any]:
    values = np.array(measured.values, np.float64)
    return {
        "name": measured.name,
        "detail": measured.detail,
        "unit": measured.unit,
        "median": float(np.median(values)),
        "mean": float(np.mean(values)),
        "least": float(values.min()),
        "largest": float(values.max()),
        "repeats": len(values),
    }


def work(folder: Path, first: int) -> None:
    """The child: runs the measurements from this one on, and prints lines of JSON for the machine, rows and ends."""
    machine: Machine = Gpu(folder)
    print(json.dumps({"machine": machine.name, "processors": machine.processors}), flush=True)
    for index in range(first, len(MEASUREMENTS)):
        end: dict[str, Any] = {"end": index}
        try:
            for measured in MEASUREMENTS[index](machine):
                print(json.dumps({"row": _row(measured)}), flush=True)
        except Exception:
            end["error"] = traceback.format_exc()
        print(json.dumps(end), flush=True)
        if "error" in end:
            # An error of the GPU remains in the context: the next child goes on.
            sys.exit(1)


def _lines(child: subprocess.Popen[str], deadline: float) -> Iterator[dict[str, Any]]:
    """What a child prints, until it ends or makes no progress."""
    lines: queue.Queue[str] = queue.Queue()

    def forward() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=forward, daemon=True).start()
    timeout_s = _START_TIMEOUT_S
    while True:
        try:
            line = lines.get(timeout=max(0.1, min(timeout_s, deadline - time.monotonic())))
        except queue.Empty:
            child.kill()
            yield {"timeout": True}
            return
        if not line:
            return
        timeout_s = _TIMEOUT_S
        if line.startswith("{"):
            yield json.loads(line)


def run(folder: Path, json_path: Path | None, device: str) -> int:
    """Runs all measurements, prints their rows and writes them as JSON; returns the number of those that failed."""
    index = json.loads((folder / "index.json").read_text())
    deadline = time.monotonic() + _LIMIT_S
    report: dict[str, Any] = {"rows": [], "failures": []}
    first = 0
    while first < len(MEASUREMENTS) and time.monotonic() < deadline:
        command = [sys.executable, __file__, "work", str(folder), "--first", str(first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            started, before = False, first
            for line in _lines(child, deadline):
                if "machine" in line:
                    started = True
                    report["machine"] = line["machine"]
                elif "timeout" in line:
                    _fail(report, first, "timeout")
                    first += 1
                elif "row" in line:
                    _accept(report, line["row"], index["models"][device], index["units"])
                else:
                    first = line["end"] + 1
                    if "error" in line:
                        _fail(report, line["end"], line["error"])
            child.wait()
        if not started:
            print("the child does not start", flush=True)
            break
        if first == before:
            _fail(report, first, f"the child ends with status {child.returncode}")
            first += 1
        if json_path:
            json_path.write_text(json.dumps(report, indent=1) + "\n")
    for index in range(first, len(MEASUREMENTS)):
        _fail(report, index, "not run")
    if json_path:
        json_path.write_text(json.dumps(report, indent=1) + "\n")
    return len(report["failures"])


def _fail(report: dict[str, Any], index: int, error: str) -> None:
    report["failures"].append({"measurement": MEASUREMENTS[index].__name__, "error": error})
    print(f"{MEASUREMENTS[index].__name__}: {error}", flush=True)


def _accept(report: dict[str, Any], row: dict[str, Any], models: dict[str, float], units: dict[str, str]) -> None:
    """Prints and keeps a row; the value of the model stands beside rows of its unit."""
    row["model"] = models[row["name"]] if row["unit"] == units[row["name"]] else None
    report["rows"].append(row)
    numbers = " ".join(f"{row[key]:>10.4g}" for key in ("median", "least", "largest"))
    model = "" if row["model"] is None else f"model {row['model']:g}"
    print(f"{row['name']:<38}{row['detail']:<62}{numbers}  {row['unit']:<20}{model}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("make", "check", "run", "work"))
    parser.add_argument("names", nargs="*", help="the folder, or the measurements to check")
    parser.add_argument("--json", type=Path, help="where run writes its rows")
    parser.add_argument("--device", default="H200", choices=("H200", "H100"), help="whose present values run prints")
    parser.add_argument("--first", type=int, default=0, help="the measurement that work starts with")
    options = parser.parse_args()
    if options.command == "check":
        return check(options.names)
    folder = Path(options.names[0])
    if options.command == "make":
        make(folder)
        return 0
    if options.command == "work":
        work(folder, options.first)
        return 0
    return run(folder, options.json, options.device)


if __name__ == "__main__":
    sys.exit(main())
