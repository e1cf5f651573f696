"""Prints the messages that the last recorded run did not produce: python tests/messages/message_report.py [FOLDER]

`--write` removes from `unproduced.txt` the messages that the run produced, and those that the sources lack.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from message_coverage import ACCEPTED, missing, read_records, shortened
from message_sites import sites, source_folder

if __name__ == "__main__":
    root = Path(__file__).parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=root / "build" / "messages")
    parser.add_argument("--write", action="store_true", help="shorten the list of accepted messages")
    arguments = parser.parse_args()
    known = sites(source_folder(root))
    left = missing(known, read_records(arguments.folder))
    if arguments.write:
        ACCEPTED.write_text(shortened(ACCEPTED.read_text(), left))
    for site in left:
        print(f"{site.file}:{site.line}: {site.text}")
    print(f"{len(left)} of {len(known)} messages were not produced", file=sys.stderr)
