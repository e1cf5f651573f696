"""Measurements on disk: one file per candidate in the folder `tuning` of the cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from tilec import cache_files, options
from tilec.errors import TilecError
from tilec.installation import fingerprint
from tilec.runtime.json_record import Record
from tilec.tuning.result import Measurement

SCHEMA = "tilec.tuning/1"
# The maximum number of measurements on disk, of about 150 bytes each; older ones are removed.
MOST = 10_000


def stored(identity: str, timer: str, config: Any) -> Measurement[Any] | None:
    """The measurement of an earlier search; None if there is none, or its file is damaged."""
    path = _path(identity, timer)
    content = None if path is None else cache_files.read(path)
    if content is None:
        return None
    try:
        return _read(Record.parse(content.decode(errors="replace"), str(path)), config)
    except TilecError:
        # The candidate is timed again, and its file replaced.
        return None


def store(identity: str, timer: str, measurement: Measurement[Any]) -> None:
    """Writes the measurement; a cache folder that cannot be written is not an error, and one of size 0 keeps none."""
    if options.cache_size_bytes() == 0:
        return
    path = _path(identity, timer)
    if path is None:
        return
    fields = {name: getattr(measurement, name) for name in ("mean_us", "num_samples", "error_margin_us", "cycles")}
    with contextlib.suppress(OSError):
        cache_files.write(path, json.dumps({"schema": SCHEMA, "timer": timer, **fields}).encode())


def folder() -> Path | None:
    """The folder of the measurements; None, with a warning, if other users could write it."""
    path = cache_files.folder("tuning")
    return None if path is None else Path(path)


def files() -> list[Path]:
    """The files of the measurements."""
    tuning = folder()
    return [] if tuning is None else list(tuning.glob("*.json"))


def remove_oldest(most: int = MOST) -> int:
    """Removes the oldest measurements but `most`; returns how many."""
    found = [(path.stat().st_mtime_ns, path) for path in files()]
    removed = sorted(found, reverse=True)[most:]
    for _, path in removed:
        path.unlink(missing_ok=True)
    return len(removed)


def _path(identity: str, timer: str) -> Path | None:
    """The file of a candidate; `timer` names the device and the conditions of the measurement."""
    key = hashlib.sha256(repr((identity, timer, fingerprint())).encode()).hexdigest()
    tuning = folder()
    return None if tuning is None else tuning / f"{key}.json"


def _read(record: Record, config: Any) -> Measurement[Any]:
    if record["schema"].text() != SCHEMA:
        raise record["schema"].error(f"'{SCHEMA}'")
    cycles = record["cycles"]
    return Measurement(
        config=config,
        mean_us=_number(record["mean_us"]),
        num_samples=record["num_samples"].integer(1),
        error_margin_us=_number(record["error_margin_us"]),
        cycles=None if cycles.value is None else _number(cycles),
    )


def _number(record: Record) -> float:
    if isinstance(record.value, bool) or not isinstance(record.value, int | float) or not 0 <= record.value < 1e18:
        raise record.error("a number that is not negative")
    return float(record.value)
