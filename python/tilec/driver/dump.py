"""`TILEC_DUMP`: writes every stage of every compile to a file, each compile to a separate folder."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from tilec.driver.compile_result import StageResult
from tilec.errors import InputError


class Dump:
    """Writes the newest stage of a growing list of results; does nothing if `root` is None."""

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

    def write_text(self, suffix: str, text: str, name: str = "kernel") -> None:
        """Writes a text beside the stages, of which one is written before."""
        if self.folder is not None:
            (self.folder / f"{name}{suffix}").write_text(text)


def _new_folder(root: Path) -> Path:
    """Creates the first numbered folder that does not exist; several processes may do so at the same time."""
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
