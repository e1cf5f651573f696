"""Repeats the launches of record.py on a GPU and compares all memory with what the simulator wrote, bit for bit.

    python replay.py FOLDER [--json FILE] [--seconds 120] [--processes 4]

FOLDER contains launches.zip and, beside an installed package or without one, the modules of tilec that launch
artifacts. Needs numpy, ml_dtypes and a driver. Each of several processes runs one launch after the other; a process
that reports nothing for 10 s is killed (`hang`), and one whose context is lost ends; a new one goes on with the next
launch. Each launch runs twice, so that a result that varies is found (`varies`).

`--launch-with MODULE:FUNCTION` replaces `tilec.runtime.launch.launch.launch`, to test this program without a GPU.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import selectors
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

TARGET = "sm_90a"
DEFAULT_LAUNCH = "tilec.runtime.launch.launch:launch"
# As in launch_recorder.py.
ADDRESS_MODULUS = 1024
# A process is killed after this time without a report: of its start, which creates a context, and of a launch.
START_S, LAUNCH_S = 40.0, 10.0
MOST_FAILED_STARTS = 3
# Differences up to this are within the bounds of approximate instructions of PTX.
FEW_ULP = 4
MOST_LISTED = 40
# The fields of a launch that the file of outcomes repeats.
DESCRIBED = ("id", "origin", "kind", "ptx_sha256", "grid", "marks", "reference")
STATUSES = ("equal", "zeros", "within", "beyond", "nan", "error", "hang", "not run")


# A process that launches.


class Memory:
    """The arrays of one launch over copies of the recorded memory, at the recorded addresses modulo ADDRESS_MODULUS."""

    def __init__(self, launch: dict[str, Any], archive: zipfile.ZipFile) -> None:
        self.buffers: list[np.ndarray] = []
        self.starts: list[int] = []
        for (residue, size, _writable), name in zip(launch["ranges"], launch["before"], strict=True):
            buffer = np.zeros(size + 2 * ADDRESS_MODULUS, np.uint8)
            start = (residue - buffer.ctypes.data) % ADDRESS_MODULUS
            buffer[start : start + size] = np.frombuffer(archive.read(name), np.uint8)
            self.buffers.append(buffer)
            self.starts.append(start)
        self.arrays: list[tuple[str, dict[str, Any], np.ndarray]] = []
        self.values = [self._value(str(number), value) for number, value in enumerate(launch["arguments"])]

    def _value(self, name: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "list" in value:
            return [self._array(f"{name}[{number}]", item) for number, item in enumerate(value["list"])]
        return self._array(name, value)

    def _array(self, name: str, described: dict[str, Any]) -> np.ndarray:
        number, shape = described["range"], tuple(described["shape"])
        offset, strides = self.starts[number] + described["offset_bytes"], tuple(described["strides_bytes"])
        array = view_of(self.buffers[number], offset, described)
        if not described["writable"]:
            array.flags.writeable = False
        assert array.shape == shape and array.strides == strides
        self.arrays.append((name, described, array))
        return array

    def content(self, number: int, size: int) -> np.ndarray:
        """The bytes of a range."""
        return self.buffers[number][self.starts[number] : self.starts[number] + size]


def view_of(buffer: np.ndarray, offset: int, described: dict[str, Any]) -> np.ndarray:
    """The array that `described` states, `offset` bytes after the start of a buffer of bytes."""
    module, _, name = described["dtype"].partition(".")
    dtype = np.dtype(getattr({"numpy": np, "ml_dtypes": ml_dtypes}[module], name))
    return np.ndarray(tuple(described["shape"]), dtype, buffer, offset, tuple(described["strides_bytes"]))


def differences(launch: dict[str, Any], memory: Memory, archive: zipfile.ZipFile) -> list[dict[str, Any]]:
    """What differs from the memory after the simulated launch: one row for each array, and for bytes of no array."""
    expected = [np.frombuffer(archive.read(name), np.uint8) for name in launch["after"]]
    found = [memory.content(number, size) for number, (_, size, _) in enumerate(launch["ranges"])]
    unequal = {number for number, content in enumerate(expected) if not np.array_equal(content, found[number])}
    rows = []
    for name, described, array in memory.arrays:
        if described["range"] in unequal:
            simulated = view_of(expected[described["range"]], described["offset_bytes"], described)
            with np.errstate(all="ignore"):
                row = compared(array, simulated)
            rows += [{"argument": name, **row}] if row else []
    if unequal and not rows:
        count = sum(int((expected[number] != found[number]).sum()) for number in unequal)
        rows.append({"argument": "bytes outside of arrays", "count": count, "class": "beyond"})
    return rows


def compared(found: np.ndarray, simulated: np.ndarray) -> dict[str, Any]:
    """Counts and sizes of the differences of two arrays; empty for equal bits."""
    found, simulated = (np.atleast_1d(np.ascontiguousarray(array)) for array in (found, simulated))
    keys = [_ordered(array) for array in (found, simulated)]
    bits = [_bits(array) for array in (found, simulated)]
    unequal = bits[0] != bits[1]
    if not unequal.any():
        return {}
    numbers = [array.astype(np.float64) for array in (found, simulated)]
    nan = [np.isnan(array) for array in numbers]
    one_nan, both_nan = nan[0] != nan[1], nan[0] & nan[1]
    comparable = unequal & ~nan[0] & ~nan[1]
    ulp = np.where(keys[0] > keys[1], keys[0] - keys[1], keys[1] - keys[0])[comparable]
    absolute = np.abs(numbers[0] - numbers[1])[comparable]
    relative = absolute / np.maximum(np.abs(numbers[1][comparable]), np.finfo(np.float64).tiny)
    at = tuple(map(int, np.argwhere(unequal & ~both_nan if (unequal & ~both_nan).any() else unequal)[0]))
    largest_ulp = int(ulp.max(initial=0))
    return {
        "dtype": found.dtype.name,
        "count": int(unequal.sum()),
        "size": int(found.size),
        "nan_or_number": int(one_nan.sum()),
        "nan_bits": int((both_nan & unequal).sum()),
        "zero_signs": int((ulp == 0).sum()),
        "beyond": int((ulp > FEW_ULP).sum()),
        "largest_ulp": largest_ulp,
        "largest_absolute": float(absolute.max(initial=0)),
        "largest_relative": float(relative.max(initial=0)),
        # Relative to the largest number of the array, which cancellation does not enlarge.
        "largest_of_scale": float(absolute.max(initial=0) / max(_scale(numbers[1]), np.finfo(np.float64).tiny)),
        "first": [list(at), f"{found[at]!r}, simulated {simulated[at]!r}"],
        "class": _class(bool(one_nan.any()), largest_ulp, found.dtype),
    }


def _scale(numbers: np.ndarray) -> float:
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0))


def _class(any_nan: bool, largest_ulp: int, dtype: np.dtype) -> str:
    if any_nan:
        return "nan"
    if largest_ulp > FEW_ULP or largest_ulp and not _is_float(dtype):
        return "beyond"
    return "within" if largest_ulp else "zeros"


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.itemsize in (1, 2, 4, 8) else array


def _ordered(array: np.ndarray) -> np.ndarray:
    """Integers in the order of the elements, one apart for neighbours; both zeros have the same."""
    bits = _bits(array).astype(np.uint64)
    sign = np.uint64(1 << (8 * array.dtype.itemsize - 1))
    if _is_float(array.dtype) and not array.dtype.name.startswith("float8_e8m0"):
        magnitude = bits & (sign - np.uint64(1))
        return np.where(bits & sign, sign - magnitude, sign + magnitude)
    return bits ^ sign if array.dtype.kind == "i" else bits


class Launches:
    """The launches of the archive, with the function that runs them."""

    def __init__(self, folder: Path, launch_with: str, repeats: int) -> None:
        self.archive = zipfile.ZipFile(folder / "launches.zip")
        self.launches = json.loads(self.archive.read("index.json"))
        module, _, function = launch_with.partition(":")
        self.launch = getattr(importlib.import_module(module), function)
        self.on_gpu, self.repeats = launch_with == DEFAULT_LAUNCH, repeats

    def run(self, number: int) -> dict[str, Any]:
        """The outcome of a launch: its status, and `differences` or `error`; `lost` if the context is unusable."""
        try:
            return self._run(self.launches[number])
        except Exception as error:
            text = f"{type(error).__name__}: {getattr(error, 'message', error)}"
            return {"status": "error", "error": text, "lost": self._is_lost()}

    def _run(self, launch: dict[str, Any]) -> dict[str, Any]:
        first, rows = self._results(launch)
        varies, wrong = False, int(bool(rows))
        for _ in range(1, max(self.repeats, 2 * wrong)):
            content, found = self._results(launch)
            varies = varies or not all(map(np.array_equal, first, content))
            wrong += bool(found)
            rows = rows or found
        if not rows:
            return {"status": "equal"}
        worst = max((row["class"] for row in rows), key=STATUSES.index)
        return {"status": worst, "varies": varies, "different_runs": wrong, "differences": rows}

    def _results(self, launch: dict[str, Any]) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
        memory = Memory(launch, self.archive)
        self.launch(self._artifact(launch), launch["grid"], memory.values)
        if self.on_gpu:
            synchronize()
        contents = [memory.content(number, size) for number, (_, size, _) in enumerate(launch["ranges"])]
        return contents, differences(launch, memory, self.archive)

    def _artifact(self, launch: dict[str, Any]) -> Any:
        from tilec.runtime.artifact.artifact import Artifact
        from tilec.runtime.artifact.metadata import read
        from tilec.runtime.json_record import Record

        cubin = self.archive.read(f"cubin/{launch['ptx_sha256']}")
        return Artifact(read(Record.parse(launch["metadata"], launch["origin"])), "", cubin)

    def _is_lost(self) -> bool:
        try:
            synchronize()
        except Exception:
            return True
        return False


def synchronize() -> None:
    """Waits for the GPU; raises LaunchError for an error of an earlier launch."""
    from tilec.runtime.devices.devices import call, device_for, driver, primary_context

    with primary_context(device_for(TARGET).ordinal):
        call(driver().cuStreamSynchronize, 0)


def serve(folder: Path, launch_with: str, repeats: int) -> None:
    """Runs the launches whose numbers come from the standard input, and reports each as a line of JSON."""
    # Kernels print to the standard output of the process.
    reports = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def report(content: dict[str, Any]) -> None:
        reports.write(json.dumps(content) + "\n")
        reports.flush()

    launches = Launches(folder, launch_with, repeats)
    if launches.on_gpu:
        try:
            synchronize()
        except Exception as error:
            report({"fatal": str(getattr(error, "message", error))})
            return
    report({"ready": True})
    for line in sys.stdin:
        outcome = launches.run(int(line))
        report(outcome)
        if outcome.get("lost"):
            # Destructors of a lost context may wait for the kernel.
            os._exit(1)


# The process that supervises them.


class Supervisor:
    """Gives launches to processes until none is left or the time is over; `outcomes` has those that ran."""

    def __init__(self, command: list[str], numbers: list[int], seconds: float) -> None:
        self.command, self.waiting = command, deque(numbers)
        self.deadline = time.monotonic() + seconds
        self.outcomes: dict[int, dict[str, Any]] = {}
        self.fatal = ""

    def run(self, processes: int) -> None:
        threads = [threading.Thread(target=self._serve) for _ in range(processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _serve(self) -> None:
        failures = 0
        while self.waiting and failures < MOST_FAILED_STARTS and time.monotonic() < self.deadline:
            child = Child(self.command)
            try:
                ready = child.report(min(START_S, self.deadline - time.monotonic()))
                if "ready" in ready:
                    failures = 0
                    self._feed(child)
                else:
                    # The GPU may still be taken by a process that was killed.
                    failures += 1
                    self.fatal = ready.get("fatal") or f"a process did not start: {ready}"
            finally:
                child.end()

    def _feed(self, child: Child) -> None:
        """Launches in one process until it must be replaced."""
        while time.monotonic() < self.deadline:
            try:
                number = self.waiting.popleft()
            except IndexError:
                return
            started = time.monotonic()
            allowed = min(LAUNCH_S, self.deadline - started)
            outcome = child.run(number, allowed)
            if outcome["status"] == "hang" and allowed < LAUNCH_S:
                return
            self.outcomes[number] = {**outcome, "seconds": round(time.monotonic() - started, 4)}
            if outcome["status"] == "hang" or outcome.get("lost"):
                return


class Child:
    """A process that launches."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        self.received = b""
        self.messages = b""
        self.selector = selectors.DefaultSelector()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            self.selector.register(stream, selectors.EVENT_READ)

    def run(self, number: int, seconds: float) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{number}\n".encode())
        except BrokenPipeError:
            return {"status": "error", "error": "the process has ended before the launch", "lost": True}
        return self.report(seconds)

    def report(self, seconds: float) -> dict[str, Any]:
        """The next report; `hang` after this time, an error if the process ends."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.received:
            events = self.selector.select(max(0.0, deadline - time.monotonic()))
            if not events:
                return {"status": "hang", "lost": True}
            for key, _ in events:
                content = os.read(key.fd, 1 << 16)
                if key.fileobj is self.process.stderr:
                    self.messages = (self.messages + content)[-2000:]
                    if not content:
                        self.selector.unregister(key.fileobj)
                elif content:
                    self.received += content
                else:
                    return {"status": "error", "error": f"the process has ended: {self._ending()}", "lost": True}
        line, _, self.received = self.received.partition(b"\n")
        report: dict[str, Any] = json.loads(line)
        return report

    def _ending(self) -> str:
        try:
            status = self.process.wait(2)
        except subprocess.TimeoutExpired:
            return "its output is closed"
        return f"status {status}, {self.messages[-300:].decode(errors='replace')}"

    def end(self) -> None:
        """Ends the process; does not wait long for one that the driver keeps."""
        self.process.kill()
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            pass
        self.selector.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


# The report.


def summary(launches: list[dict[str, Any]], outcomes: dict[int, dict[str, Any]]) -> Iterator[str]:
    """A table by kind, the errors by their text, and the launches with the largest differences."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for launch in launches:
        outcome = outcomes.get(launch["id"], {"status": "not run"})
        group = launch["kind"].replace("tests/kernels/", "") + _suffix(launch)
        table[group]["launches"] += 1
        table[group][outcome["status"]] += 1
        table[group]["varies"] += bool(outcome.get("varies"))
    columns = ("launches", *STATUSES, "varies")
    table["total"] = sum(table.values(), Counter())
    yield "".join([f"{'':44}", *(f"{column:>9}" for column in columns)])
    for group, counts in sorted(table.items(), key=lambda item: (item[0] == "total", item[0])):
        yield "".join([f"{group[:43]:44}", *(f"{counts[column] or '.':>9}" for column in columns)])
    yield f"zeros: only signs of zeros and bits of NaNs; within: floats, at most {FEW_ULP} units in the last place;"
    yield "nan: a NaN where the other has a number; varies: runs on the GPU differ from each other"
    errors = Counter(
        re.sub(r"\d+", "#", outcome["error"])[:200] for outcome in outcomes.values() if outcome["status"] == "error"
    )
    yield from (f"{count:6} {text}" for text, count in errors.most_common(20))
    by_id = {launch["id"]: launch for launch in launches}
    worst = [number for number, outcome in outcomes.items() if outcome["status"] != "equal"]
    for number in sorted(worst, key=lambda number: _severity(outcomes[number], by_id[number]))[:MOST_LISTED]:
        yield _line(by_id[number], outcomes[number])


def _suffix(launch: dict[str, Any]) -> str:
    marks = launch["marks"]
    return "".join(f" ({mark})" for mark in ("unordered", "unconfirmed", "unchecked", "cannot_run") if mark in marks)


def _severity(outcome: dict[str, Any], launch: dict[str, Any]) -> tuple[Any, ...]:
    """Differences that marks do not explain come first, then NaNs and hangs, then the largest."""
    largest = max((row.get("largest_of_scale", 0) for row in outcome.get("differences", ())), default=0)
    order = ("hang", "error", "nan", "beyond", "within", "zeros")
    return bool(launch["marks"]), order.index(outcome["status"]), -largest


def _line(launch: dict[str, Any], outcome: dict[str, Any]) -> str:
    rows = outcome.get("differences", ())
    texts = [
        f"argument {row['argument']}: {row['count']} of {row.get('size')} {row.get('dtype')}, "
        f"{row.get('largest_ulp')} ulp, {row.get('largest_of_scale', 0):.1e} of the largest, "
        f"at {' '.join(map(str, row.get('first', ())))}"
        for row in rows[:2]
    ]
    text = "; ".join(texts) or outcome.get("error", "")[:160]
    varies = " varies" if outcome.get("varies") else ""
    marks = f" {launch['marks']}" if launch["marks"] else ""
    return f"#{launch['id']} {outcome['status']}{varies}{marks} {launch['origin'][-110:]}: {text}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, help="the file of all outcomes")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2, help="runs of each launch")
    parser.add_argument(
        "--only", type=int, nargs="*", metavar="ID", help="launches to run, also those marked cannot_run"
    )
    parser.add_argument("--launch-with", default=DEFAULT_LAUNCH, metavar="MODULE:FUNCTION")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    if (folder / "tilec").exists():
        sys.path.insert(0, str(folder))
    if options.serve:
        serve(folder, options.launch_with, options.repeats)
        return 0
    started = time.monotonic()
    with zipfile.ZipFile(folder / "launches.zip") as archive:
        launches = json.loads(archive.read("index.json"))
    numbers = options.only or [launch["id"] for launch in launches if "cannot_run" not in launch["marks"]]
    if not options.only:
        # So that a run that ends early has launches of every kind.
        Random(1).shuffle(numbers)
    command = [sys.executable, __file__, str(folder), "--serve", "--launch-with", options.launch_with]
    command += ["--repeats", str(options.repeats)]
    supervisor = Supervisor(command, numbers, options.seconds)
    supervisor.run(options.processes)
    if options.json:
        _write(options.json, launches, supervisor.outcomes)
    print("\n".join(summary(launches, supervisor.outcomes)))
    print(f"{len(supervisor.outcomes)} of {len(launches)} launches in {time.monotonic() - started:.1f} s")
    if supervisor.fatal:
        print(supervisor.fatal)
    return (
        2
        if supervisor.fatal and not supervisor.outcomes
        else int(any(o["status"] != "equal" for o in supervisor.outcomes.values()))
    )


def _write(path: Path, launches: list[dict[str, Any]], outcomes: dict[int, dict[str, Any]]) -> None:
    """Writes the outcome of each launch with its origin, marks and reference."""
    rows = []
    for launch in launches:
        described = {name: launch[name] for name in DESCRIBED if name in launch}
        rows.append({**described, **outcomes.get(launch["id"], {"status": "not run"})})
    path.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    sys.exit(main())
