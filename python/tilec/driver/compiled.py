"""The result of a compile as users have it: with the launch metadata, reports, and launches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilec.diagnostics.user_traceback import public
from tilec.driver.compile_result import CompileResult
from tilec.driver.launch_metadata import metadata_of
from tilec.errors import KernelUseError, UsageError
from tilec.runtime.artifact import artifact as artifacts
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.metadata import Metadata

if TYPE_CHECKING:
    from pathlib import Path

    from tilec.runtime.dispatch._dispatch import Launcher


class Compiled(CompileResult):
    """A compiled entry; the text of a stage that the compile did not reach is empty.

    Example:
        >>> @ct.kernel
        ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
        >>> compiled = ct.compile(example, signature="x: i32[?]", stop="gpu")
        >>> compiled.target, "entry @example" in compiled.tile, compiled.ptx
        ('sm_100a', True, '')

    `remarks` lists missed optimizations and hints that were not followed, each with the reason and an estimate, without
    those that cost less than 1 % of the kernel; `all_remarks` has these too.
    """

    def __getitem__(self, _grid: object) -> Any:
        raise KernelUseError.of_subscript(self.entry or self.source.name)

    @cached_property
    def metadata(self) -> Metadata | None:
        """The launch metadata; None if the compile stopped before PTX, or started from PTX without metadata."""
        return metadata_of(self)

    @property
    def artifact(self) -> Artifact:
        """PTX, cubin and launch metadata, for simulate and launch; raises UsageError without metadata."""
        if self.metadata is None:
            correction = "add its .launch.json" if self.ptx else "compile it to stage 'ptx' or 'cubin'"
            raise UsageError(f"{self.source.name} has no launch metadata: {correction}")
        return Artifact(self.metadata, self.ptx, self.cubin)

    def explain(self, name: str) -> str:
        """A report about the kernel.

        Args:
            name: "plan", what is chosen for the whole kernel, with reasons; "cost", the cycles that the cost model
                predicts for each loop, and the unit that bounds them; or "memory", where rings and staging buffers lie
                in memory, and when they are in use.

        Returns:
            The report as text.

        Raises:
            UsageError: the report is unknown, or the compile did not reach or started after stage 'gpu'.

        Example:
            >>> @ct.kernel
            ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
            >>> compiled = ct.compile(example, signature="x: i32[?]", stop="gpu")
            >>> print(compiled.explain("cost").splitlines()[0])
            example on B200, 16 blocks per SM
        """
        # Imported here because only reports need it.
        from tilec.explain.reports import reports_of

        return "\n".join(report.text() for report in reports_of(self, name))

    def _repr_html_(self) -> str:
        """The stages as tabs, for Jupyter; each line shows the source line that it comes from."""
        # Imported here because only notebooks need it.
        from tilec.driver.stage_html import compiled_html

        return compiled_html(self, self.metadata)

    @public
    def launcher(self, args: Sequence[Any]) -> Launcher:
        """This kernel with bound arguments, for launches that cost as little as possible.

        Args:
            args: the arguments in the order of the parameters; arrays are in the memory of one device. The launcher
                reads them once, and keeps them alive.

        Returns:
            A callable of (stream, grid), as of ct.launch, which launches without reading an argument.

        Raises:
            UsageError: an array is in host memory, or none of the arguments is an array.
            InputError: the arguments do not match the signature, or an array has no elements.
            LaunchError: no GPU can run the kernel.

        Example:
            >>> @ct.kernel
            ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
            >>> compiled = ct.compile(example, signature="x: i32[?]", stop="ptx")
            >>> try: compiled.launcher((np.zeros(4, np.int32),))
            ... except ct.TileError as error: print(error.message)
            a launcher needs arrays in device memory: pass host arrays to ct.launch
        """
        # Imported here because it loads the bindings of the CUDA driver.
        from tilec.runtime.launch.launch_plan import launcher

        return launcher(self.artifact, args)

    @public
    def save(self, path: str | Path, locations: bool = False) -> Path:
        """Writes the file of every stage, and the files of the artifact.

        Args:
            path: the stem of the files, to which suffixes are added.
            locations: whether the text of each stage includes the source location of each operation.

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
