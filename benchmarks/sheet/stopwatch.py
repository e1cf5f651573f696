"""The time that a compile takes."""

from __future__ import annotations

import resource


class Stopwatch:
    """The processor time of this process and of its children, which other programs of the machine disturb least."""

    def __init__(self) -> None:
        self._start = _processor_seconds()

    def seconds(self) -> float:
        """The processor time since the start, of all threads and of the processes that have ended."""
        return _processor_seconds() - self._start


def _processor_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
