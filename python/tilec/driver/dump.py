"""`TILEC_DUMP`: every stage of every compile as files, each compile in a folder of its own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from tilec.driver.compiled import StageResult
from tilec.errors import InputError


class Dump:
    """Writes the last stage of a growing list of results; nothing where no folder is set."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self.folder: Path | None = None

    def write(self, results: Sequence[StageResult], name: str = "kernel") -> None:
        if self.root is None:
            return
        first = self.folder is None
        if self.folder is None:
            self.folder = _new_folder(self.root)
        for result in results if first else results[-1:]:
            result.save(self.folder / name)


def _new_folder(root: Path) -> Path:
    """The first free numbered folder; several processes may dump side by side."""
    for number in itertools.count(1):
        folder = root / f"{number:04}"
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"cannot write the stages to {root}: {error.strerror}") from None
    raise AssertionError("unreachable")
