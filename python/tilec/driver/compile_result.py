"""What the stages of a compile made: the text and the time of each, and the cubin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilec.driver.stage_text import module_text
from tilec.frozen import Frozen
from tilec.remarks import Remark, reported
from tilec.runtime.artifact import artifact as artifacts
from tilec.text_input.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from tilec.lowering.tile_to_gpu.kernel import Candidate


class StageResult(Frozen):
    """The result of one stage; `seconds` is zero for the stage that the compile started from."""

    name: str
    suffix: str
    seconds: float
    value: Any
    given_text: str | None = None

    @cached_property
    def text(self) -> str:
        """The text of the stage, from which a compile can start; empty for the cubin."""
        return self._text(locations=False)

    @cached_property
    def located_text(self) -> str:
        """The text of the stage with the source location of each operation."""
        return self._text(locations=True)

    def _text(self, locations: bool) -> str:
        if self.given_text is not None:
            return self.given_text
        if self.name == "cubin":
            return ""
        return self.value if isinstance(self.value, str) else module_text(self.value, self.name, locations)

    def content(self, locations: bool = False) -> bytes:
        """The content of the stage's file."""
        if self.name == "cubin":
            return self.value.content
        return (self.located_text if locations else self.text).encode()

    def save(self, base: Path, locations: bool = False) -> Path:
        """Writes the file of the stage and returns its path: `base` with the suffix of the stage appended."""
        path = base.with_name(base.name + self.suffix)
        artifacts.write(path, self.content(locations))
        return path


class CompileResult(Frozen):
    """What a compile made of an entry; the text of a stage that it did not reach is empty.

    `remarks` lists missed optimizations and hints that were not followed, each with the reason and an estimate, without
    those that cost less than 1 % of the kernel; `all_remarks` has these too.
    """

    target: str
    entry: str | None
    stages: tuple[StageResult, ...]
    source: Source
    # Without estimates, which take a tenth of the time of a compile.
    found_remarks: tuple[Remark, ...] = ()
    # The chosen candidate of each entry; none if the compile did not convert Tile IR.
    candidates: tuple[Candidate, ...] = ()

    @cached_property
    def all_remarks(self) -> tuple[Remark, ...]:
        """All remarks, the largest estimate first, each once."""
        if all(remark.loss is None for remark in self.found_remarks):
            return tuple(dict.fromkeys(self.found_remarks))
        # Imported here because most kernels have no remarks.
        from tilec.explain.remark_estimates import estimated

        gpu = self.stage("gpu")
        return tuple(estimated(self.found_remarks, None if gpu is None else gpu.value, self.target))

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """The remarks that matter, the largest estimate first."""
        return reported(self.all_remarks)

    def stage(self, name: str) -> StageResult | None:
        """The result of a stage.

        Args:
            name: the name of the stage, such as "tile" or "ptx".

        Returns:
            The result; None if the compile started after this stage or stopped before it.

        Raises:
            Nothing: the result of an unknown name is None.

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
        """The tile_gpu dialect: after its passes if the compile ran them, else before."""
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
        """The cubin; empty if the compile stopped before it."""
        result = self.stage("cubin")
        return result.content() if result else b""


def total_seconds(stages: Sequence[StageResult]) -> float:
    """The total time of the stages."""
    return sum(result.seconds for result in stages)
