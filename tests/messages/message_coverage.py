"""Which sites of messages the recorded texts come from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from message_sites import Site, pattern

# Messages that no test produces yet, one per line; the list may only become shorter.
ACCEPTED = Path(__file__).parent / "unproduced.txt"

# The characters before and after a part of a message, in which its other parts are.
_NEAR = 600

Record = tuple[str, list[tuple[str, int]]]


def read_records(folder: Path) -> list[Record]:
    """The records of all processes in a folder."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("**/*.jsonl"))]
    return [json.loads(line) for text in texts for line in text.split("\n") if line]


def missing(sites: Iterable[Site], records: list[Record]) -> list[Site]:
    """The sites whose text no record has.

    A site that builds its error at once counts only if a call of its lines was active, as two sites may have equal
    texts. Other processes have no lines to compare.
    """
    everything = "\n".join({text for text, _ in records})
    elsewhere = "\n".join({text for text, lines in records if not lines})
    at_line: dict[tuple[str, int], list[str]] = defaultdict(list)
    for text, lines in records:
        for file, line in lines:
            at_line[file, line].append(text)
    return [site for site in sites if not _is_produced(site, everything, elsewhere, at_line)]


def _is_produced(site: Site, everything: str, elsewhere: str, at_line: dict[tuple[str, int], list[str]]) -> bool:
    if site.statement is None:
        return _occurs(site, everything)
    first, last = site.statement
    reached = [text for line in range(first, last + 1) for text in at_line[site.file, line]]
    if len(site.parts) == 1 and site.parts[0].startswith("raise "):
        return bool(reached)
    return any(map(pattern(site).search, reached)) or _occurs(site, elsewhere)


def _occurs(site: Site, text: str) -> bool:
    """Whether the parts of a site occur in order, near each other: a search of the whole text would take minutes."""
    longest, matches = max(site.parts, key=len), pattern(site)
    start = text.find(longest)
    while start >= 0:
        end = start + len(longest) + _NEAR
        if matches.search(text, max(0, start - _NEAR), end):
            return True
        start = text.find(longest, end - _NEAR)
    return False


def demands(sites: Iterable[Site], records: list[Record], accepted: str) -> list[str]:
    """Why a run of all tests does not suffice: messages without a test, and lines of `accepted` that are obsolete."""
    allowed = set(accepted_sites(accepted))
    left = missing(sites, records)
    problems = [f"{site.file}:{site.line}: no test produces: {site.text}" for site in left if str(site) not in allowed]
    produced = allowed - set(map(str, left))
    return problems + [f"remove the line of unproduced.txt, as a test produces: {text}" for text in sorted(produced)]


def shortened(text: str, left: Iterable[Site]) -> str:
    """The text of `unproduced.txt` without the messages that are not left."""
    kept = set(map(str, left))
    return "".join(f"{line}\n" for line in text.splitlines() if not accepted_sites(line) or line in kept)


def accepted_sites(text: str) -> list[str]:
    """The lines of `unproduced.txt` without its comments."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]
