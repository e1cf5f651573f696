"""`tilec cache`: lists the kernels that are kept on disk, shows their size, or removes them and the times of tuning."""

from __future__ import annotations

import argparse
import datetime
from typing import Any

from tilec import options
from tilec.commands import json_output
from tilec.driver import disk_cache
from tilec.driver.disk_cache import Entry
from tilec.tuning import stored_measurements

_MEBIBYTE = 1 << 20


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("action", choices=("list", "size", "clear"), nargs="?", default="size", help="(default: size)")


def run(arguments: argparse.Namespace) -> None:
    """Prints one kernel per line, or a total; `clear` also removes the measurements of tunings."""
    found = disk_cache.entries()
    folder = disk_cache.folder() or options.cache_folder()
    measurements = len(stored_measurements.files())
    removed = disk_cache.evict(0) if arguments.action == "clear" else 0
    removed_measurements = stored_measurements.remove_oldest(0) if arguments.action == "clear" else 0
    if arguments.json:
        left = [] if arguments.action == "clear" else [_fields(entry) for entry in reversed(found)]
        counts = {"removed": removed, "limit_bytes": options.cache_size_bytes(), "kernels": left}
        tunings = {"measurements": measurements - removed_measurements, "removed_measurements": removed_measurements}
        json_output.write("cache", {"folder": folder, **counts, **tunings})
    elif arguments.action == "list":
        for entry in reversed(found):
            print(_line(entry))
    elif arguments.action == "clear":
        print(f"removed {removed} kernels from {folder}")
        if removed_measurements:
            print(f"removed {removed_measurements} measurements from {stored_measurements.folder()}")
    else:
        total, limit = sum(entry.size_bytes for entry in found), options.cache_size_bytes()
        size = f"{total / _MEBIBYTE:.1f} of at most {limit / _MEBIBYTE:.0f} MiB"
        print(f"{len(found)} kernels, {size}, in {folder}")
        if measurements:
            print(f"{measurements} measurements, in {stored_measurements.folder()}")


def _fields(entry: Entry) -> dict[str, Any]:
    """A kernel as JSON; the names of one that is incomplete are null."""
    header = entry.header() or {}
    names = {name: header.get(name) for name in ("kernel", "signature", "target")}
    used = datetime.datetime.fromtimestamp(entry.used_ns / 1e9, datetime.UTC).isoformat(timespec="seconds")
    return {**names, "size_bytes": entry.size_bytes, "used": used, "file": str(entry.path)}


def _line(entry: Entry) -> str:
    used = datetime.datetime.fromtimestamp(entry.used_ns / 1e9).strftime("%Y-%m-%d %H:%M")
    header = entry.header()
    size = f"{used}  {entry.size_bytes:>9} bytes"
    if header is None:
        return f"{size}  incomplete: {entry.path.name}"
    return f"{size}  {header['target']:<8}  {header['kernel']}({header['signature']})"
