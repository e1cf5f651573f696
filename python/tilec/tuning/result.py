"""The result of a search: measurements, failures, a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Generic, TypeVar

from tilec.runtime.artifact import artifact as artifacts

T = TypeVar("T")

# The longest message of a failure in a table.
_LONGEST_MESSAGE = 100
# Characters of the longest bar of a plot in text.
_BAR_WIDTH = 40


@dataclass(frozen=True, kw_only=True)
class Measurement(Generic[T]):
    """The time of a kernel with one configuration.

    Attributes:
        config: the configuration.
        mean_us: the mean time in microseconds.
        num_samples: the number of runs that were timed.
        error_margin_us: half of the 95 % confidence interval of the mean, in microseconds.
        cycles: the cycles that the simulator's counters imply; None for times of a GPU.
    """

    config: T
    mean_us: float
    num_samples: int
    error_margin_us: float
    cycles: float | None = None

    def time_text(self) -> str:
        """The time with its error margin."""
        margin = "" if self.cycles is not None else f"±{self.error_margin_us:.1f}"
        return f"{self.mean_us:.1f}{margin} us"


@dataclass(frozen=True, kw_only=True)
class TuningResult(Generic[T]):
    """The measurements of a search.

    Attributes:
        best: the measurement with the smallest mean.
        successes: the measurement of each configuration that ran, in the order of the search space.
        failures: configuration, class of the error and message of each configuration that did not compile or run.
        pruned: the configurations that were not timed, each with the time that the cost model estimates in
            microseconds.
        timer: how the times were obtained, "CUDA events" or "simulator".
    """

    best: Measurement[T]
    successes: Sequence[Measurement[T]]
    failures: Sequence[tuple[T, type[BaseException], str]]
    pruned: Sequence[tuple[T, float]] = ()
    timer: str = "CUDA events"

    def ranked(self) -> list[Measurement[T]]:
        """The measurements, fastest first."""
        return sorted(self.successes, key=lambda measurement: measurement.mean_us)

    def summary(self, *, top_k: int = 10, bottom_k: int = 2) -> str:
        """A table of the result.

        Args:
            top_k: the number of fastest configurations, and of failures, that are listed.
            bottom_k: the number of slowest configurations that are listed.

        Returns:
            The text, one configuration per line, fastest first.

        Raises:
            Nothing.

        Example:
            >>> best = ct.tune.Measurement(config=64, mean_us=1.5, num_samples=5, error_margin_us=0.1)
            >>> print(ct.tune.TuningResult(best=best, successes=(best,), failures=()).summary())
            1 succeeded, 0 failed
              timer: CUDA events
            * 64: 1.5±0.1 us (5 samples)
        """
        counts = f"{len(self.successes)} succeeded, {len(self.failures)} failed"
        pruned = f", {len(self.pruned)} pruned" if self.pruned else ""
        lines = [f"{counts}{pruned}", f"  timer: {_TIMERS[self.timer]}", *self._rows(self._shown(top_k, bottom_k))]
        if self.pruned:
            lines.append("  not timed, because the cost model estimates more time:")
            listed = [f"    {config}: {estimate:.1f} us" for config, estimate in self.pruned]
            lines += _shortened(listed, top_k)
        if self.failures:
            lines.append(f"  {len(self.failures)} failed:")
            lines += _shortened([_failure_text(*failure) for failure in self.failures], top_k)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _shown(self, top_k: int, bottom_k: int) -> list[Measurement[T] | int]:
        """The measurements of the table; a number is the count of measurements left out in its place."""
        ranked = self.ranked()
        left_out = len(ranked) - top_k - bottom_k
        # One line that counts the rows left out is not shorter than one row.
        if left_out <= 1:
            return list(ranked)
        return [*ranked[:top_k], left_out, *ranked[len(ranked) - bottom_k :]]

    def _rows(self, shown: Sequence[Measurement[T] | int]) -> list[str]:
        listed = [each for each in shown if isinstance(each, Measurement)]
        width = max((len(str(each.config)) for each in listed), default=0)
        times = max((len(each.time_text()) for each in listed), default=0)
        lines = []
        for each in shown:
            if isinstance(each, int):
                lines.append(f"    ... {each} more not shown")
                continue
            marker = "*" if each is self.best else " "
            lines.append(f"{marker} {str(each.config):<{width}}: {each.time_text():>{times}} ({_count_text(each)})")
        return lines

    def plot(self) -> str:
        """The times as bars of text, fastest first.

        Returns:
            One line per configuration.

        Raises:
            Nothing.

        Example:
            >>> times = [ct.tune.Measurement(config=c, mean_us=t, num_samples=5, error_margin_us=0.1)
            ...     for c, t in ((64, 4.0), (128, 2.0))]
            >>> print(ct.tune.TuningResult(best=times[1], successes=times, failures=()).plot())
            128 |####################                     2.0 us
            64  |######################################## 4.0 us
        """
        ranked = self.ranked()
        longest = ranked[-1].mean_us or 1.0
        width = max(len(str(each.config)) for each in ranked)
        bars = [("#" * max(1, round(_BAR_WIDTH * each.mean_us / longest)), each) for each in ranked]
        return "\n".join(
            f"{str(each.config):<{width}} |{bar:<{_BAR_WIDTH}} {each.mean_us:.1f} us" for bar, each in bars
        )

    def save_plot(self, path: str | Path) -> None:
        """Writes the times as bars of an SVG image.

        Args:
            path: the file.

        Returns:
            Nothing.

        Raises:
            InputError: the file cannot be written.

        Example:
            >>> import tempfile, pathlib
            >>> best = ct.tune.Measurement(config=64, mean_us=1.5, num_samples=5, error_margin_us=0.1)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     file = pathlib.Path(folder) / "times.svg"
            ...     ct.tune.TuningResult(best=best, successes=(best,), failures=()).save_plot(file)
            ...     file.read_text().count("<rect")
            1
        """
        artifacts.write(Path(path), _svg(self.ranked(), _TIMERS[self.timer]).encode())

    def to_json(self) -> dict[str, Any]:
        """The result as a value that the module json writes; a configuration that JSON lacks becomes its text.

        Returns:
            The fields of the result, and those of each measurement.

        Raises:
            Nothing.

        Example:
            >>> best = ct.tune.Measurement(config=64, mean_us=1.5, num_samples=5, error_margin_us=0.1)
            >>> ct.tune.TuningResult(best=best, successes=(best,), failures=()).to_json()["best"]["mean_us"]
            1.5
        """
        return {
            "timer": self.timer,
            "best": _measurement_json(self.best),
            "successes": [_measurement_json(each) for each in self.ranked()],
            "failures": [
                {"config": _json_config(config), "error": kind.__name__, "message": message}
                for config, kind, message in self.failures
            ],
            "pruned": [{"config": _json_config(config), "estimate_us": time} for config, time in self.pruned],
        }


# Timer -> its text in tables.
_TIMERS = {"CUDA events": "CUDA events", "simulator": "estimated from the simulator's counters, not measured"}


def _count_text(measurement: Measurement[Any]) -> str:
    if measurement.cycles is not None:
        return f"{measurement.cycles:.0f} cycles"
    return f"{measurement.num_samples} samples"


def _failure_text(config: object, kind: type[BaseException], message: str) -> str:
    first = message.split("\n", 1)[0]
    shown = first if len(first) <= _LONGEST_MESSAGE else f"{first[: _LONGEST_MESSAGE - 3]}..."
    return f"    {config}: {kind.__name__}: {shown}"


def _shortened(lines: list[str], count: int) -> list[str]:
    return [*lines[:count], *([f"    ... {len(lines) - count} more not shown"] if len(lines) > count else [])]


def _measurement_json(measurement: Measurement[Any]) -> dict[str, Any]:
    return {
        "config": _json_config(measurement.config),
        "mean_us": measurement.mean_us,
        "num_samples": measurement.num_samples,
        "error_margin_us": measurement.error_margin_us,
        "cycles": measurement.cycles,
    }


def _json_config(config: object) -> object:
    if isinstance(config, dict):
        return {str(name): _json_config(value) for name, value in config.items()}
    if isinstance(config, list | tuple):
        return [_json_config(value) for value in config]
    return config if config is None or isinstance(config, bool | int | float | str) else str(config)


# In pixels: the height of a row, and the widths of the columns of configurations, bars and times.
_ROW, _LABELS, _BARS, _TIMES = 20, 320, 400, 120


def _svg(ranked: Sequence[Measurement[Any]], timer: str) -> str:
    longest = ranked[-1].mean_us or 1.0
    width, height = _LABELS + _BARS + _TIMES, _ROW * (len(ranked) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="monospace" '
        f'font-size="12">',
        f'<text x="4" y="14">microseconds: {escape(timer)}</text>',
    ]
    for row, each in enumerate(ranked, 1):
        length = max(1, round(_BARS * each.mean_us / longest))
        middle = _ROW * row + 14
        lines.append(f'<text x="{_LABELS - 8}" y="{middle}" text-anchor="end">{escape(str(each.config))}</text>')
        lines.append(f'<rect x="{_LABELS}" y="{_ROW * row + 2}" width="{length}" height="{_ROW - 4}" fill="#76b900"/>')
        lines.append(f'<text x="{_LABELS + length + 6}" y="{middle}">{each.mean_us:.1f}</text>')
    return "\n".join([*lines, "</svg>", ""])
