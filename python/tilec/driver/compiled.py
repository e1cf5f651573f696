"""What a compile gives: the text of every stage with its time, the cubin, and what a launch needs to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tilec.diagnostics.user_traceback import public
from tilec.driver.launch_metadata import metadata_of
from tilec.driver.stage_text import module_text
from tilec.errors import UsageError
from tilec.remarks import Remark
from tilec.runtime import artifact as artifacts
from tilec.runtime.artifact import Artifact
from tilec.runtime.metadata import Metadata
from tilec.text_input.source import Source


@dataclass(frozen=True)
class StageResult:
    """One stage of a compile; `seconds` is zero for the stage that the compile started from."""

    name: str
    suffix: str
    seconds: float
    value: Any
    given_text: str | None = None

    @cached_property
    def text(self) -> str:
        """The stage's text, which can be fed back in; empty for the cubin."""
        return self._text(locations=False)

    @cached_property
    def located_text(self) -> str:
        """The stage's text with the location in the user's file of each operation."""
        return self._text(locations=True)

    def _text(self, locations: bool) -> str:
        if self.given_text is not None:
            return self.given_text
        if self.name == "cubin":
            return ""
        return self.value if isinstance(self.value, str) else module_text(self.value, self.name, locations)

    def content(self, locations: bool = False) -> bytes:
        """What the stage's file holds."""
        if self.name == "cubin":
            return self.value.content
        return (self.located_text if locations else self.text).encode()

    def save(self, base: Path, locations: bool = False) -> Path:
        """Writes the file of the stage, `base` with the stage's suffix, and returns its path."""
        path = base.with_name(base.name + self.suffix)
        artifacts.write(path, self.content(locations))
        return path


@dataclass(frozen=True)
class Compiled:
    """An entry as far as it was compiled; the text of a stage that was not reached is empty.

    Example:
        >>> @ct.kernel
        ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
        >>> compiled = ct.compile(example, signature="x: i32[?]", stop="gpu")
        >>> compiled.target, "entry @example" in compiled.tile, compiled.ptx
        ('sm_100a', True, '')

    `remarks` say what could not be done as fast or as hinted as one may expect, with the reason.
    """

    target: str
    entry: str | None
    stages: tuple[StageResult, ...]
    source: Source
    remarks: tuple[Remark, ...] = ()

    def stage(self, name: str) -> StageResult | None:
        """The result of a stage.

        Args:
            name: the name of the stage, such as "tile" or "ptx".

        Returns:
            The result; None if the compile started below the stage or stopped before it.

        Raises:
            Nothing: an unknown name has no result.

        Example:
            >>> @ct.kernel
            ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
            >>> compiled = ct.compile(example, signature="x: i32[?]", stop="tile")
            >>> compiled.stage("tile").suffix, compiled.stage("ptx")
            ('.tile.mlir', None)
        """
        return next((result for result in self.stages if result.name == name), None)

    def _text(self, *names: str) -> str:
        found = [result for result in self.stages if result.name in names]
        return found[-1].text if found else ""

    @property
    def tile(self) -> str:
        """Tile IR."""
        return self._text("tile")

    @property
    def gpu(self) -> str:
        """tile_gpu, after its passes where the compile got that far."""
        return self._text("gpu-raw", "gpu")

    @property
    def ptx_mlir(self) -> str:
        """The ptx dialect."""
        return self._text("ptx-mlir")

    @property
    def ptx(self) -> str:
        """PTX text."""
        return self._text("ptx")

    @property
    def cubin(self) -> bytes:
        """The cubin, empty where the compile stopped before it."""
        result = self.stage("cubin")
        return result.content() if result else b""

    @cached_property
    def metadata(self) -> Metadata | None:
        """What a launch needs to know; None where the compile stopped before PTX, or began with PTX alone."""
        return metadata_of(self)

    @property
    def artifact(self) -> Artifact:
        """PTX, cubin and metadata in one, for simulate and launch; UsageError if the last stage is before PTX."""
        if self.metadata is None:
            raise UsageError(f"{self.source.name} has no launch metadata; compile an earlier stage as far as ptx")
        return Artifact(self.metadata, self.ptx, self.cubin)

    @public
    def save(self, path: str | Path, locations: bool = False) -> Path:
        """Writes the file of every stage and those of the artifact.

        Args:
            path: the stem of the files, to which suffixes are added.
            locations: whether the text of each stage holds the location of each operation.

        Returns:
            The stem.

        Raises:
            InputError: the folder does not exist or cannot be written.

        Example:
            >>> import tempfile, pathlib
            >>> @ct.kernel
            ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
            >>> compiled = ct.compile(example, signature="x: i32[?]", stop="tile")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     stem = compiled.save(pathlib.Path(folder) / "example")
            ...     [file.name for file in pathlib.Path(folder).iterdir()]
            ['example.tile.mlir']
        """
        base = artifacts.stem(path)
        for result in self.stages:
            result.save(base, locations)
        if self.metadata is not None:
            artifacts.save(self.artifact, base)
        return base


def total_seconds(stages: Sequence[StageResult]) -> float:
    """The time of all stages together."""
    return sum(result.seconds for result in stages)
