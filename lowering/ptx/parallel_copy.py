"""A parallel copy -> a sequence of moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable


def sequentialize(copies: Iterable[tuple[str, str]], temporary: Callable[[str], str]) -> list[tuple[str, str]]:
    """Moves (destination, source) with the effect of all copies at once.

    Destinations are distinct. A cycle costs one extra move through `temporary(register)`, a free register of the same
    class; cycles are resolved one at a time, so one temporary register per class is enough.
    """
    pending = {destination: source for destination, source in copies if destination != source}
    readers = Counter(pending.values())
    free = [destination for destination in pending if not readers[destination]]
    moves = []
    while pending:
        if not free:
            # Only cycles are left: save the first destination in a temporary register.
            destination = next(iter(pending))
            reader = next(other for other, source in pending.items() if source == destination)
            saved = temporary(destination)
            moves.append((saved, destination))
            pending[reader] = saved
            free.append(destination)
        destination = free.pop()
        source = pending.pop(destination)
        moves.append((destination, source))
        readers[source] -= 1
        if source in pending and not readers[source]:
            free.append(source)
    return moves
