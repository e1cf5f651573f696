"""Runs a command and prints what it does and for how long: `python progress.py TITLE COMMAND ..`.

On a terminal one line is updated every second; otherwise a line is printed every ten seconds. It has the counts of
ninja's status lines, such as `[3/120] Building CXX object ..`. The output of the command is printed only if it fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time

STATUS = re.compile(r"\[(\d+)/(\d+)\] ")


def main(title: str, command: list[str]) -> int:
    started, lines = time.monotonic(), list[str]()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert process.stdout is not None
    reader = threading.Thread(target=lines.extend, args=(process.stdout,))
    reader.start()
    is_terminal = sys.stdout.isatty()
    start, end = ("\r\033[K", "") if is_terminal else ("", "\n")
    print(f"{title} ..", end=end, flush=True)
    while reader.is_alive():
        reader.join(1 if is_terminal else 10)
        if reader.is_alive():
            print(f"{start}{title}: {_compiled(lines)}{time.monotonic() - started:.0f} s", end=end, flush=True)
    status = process.wait()
    result = f"failed with status {status} after" if status else "done in"
    print(f"{start}{title}: {result} {time.monotonic() - started:.0f} s", flush=True)
    if status:
        print("".join(lines), end="", flush=True)
    return status


def _compiled(lines: list[str]) -> str:
    """The last counts of ninja's status lines."""
    for line in reversed(lines[-100:]):
        if status := STATUS.search(line):
            return f"{status[1]} of {status[2]} steps, "
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
