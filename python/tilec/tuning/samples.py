"""Repeated timings of one candidate: mean, confidence interval, and when there are enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

BATCH = 5
WARM_UP = 3
MAX_SAMPLES = 1000
MAX_TIME_US = 5_000_000
# The fastest candidates are timed until their interval is this narrow, relative to the mean or in microseconds.
RELATIVE_MARGIN = 0.01
MARGIN_US = 0.5
# The normal quantile of a 95 % interval.
_QUANTILE = 1.96


@dataclass
class Samples:
    """Mean and variance of the times in microseconds, by Welford's algorithm."""

    count: int = 0
    mean_us: float = 0.0
    squares: float = 0.0

    def add(self, time_us: float) -> None:
        """Adds a time."""
        self.count += 1
        before = self.mean_us
        self.mean_us += (time_us - before) / self.count
        self.squares += (time_us - before) * (time_us - self.mean_us)

    @property
    def margin_us(self) -> float:
        """Half of the 95 % confidence interval; infinite for one time."""
        if self.count < 2:
            return math.inf
        return _QUANTILE * math.sqrt(self.squares / (self.count - 1) / self.count)

    @property
    def is_enough(self) -> bool:
        """Whether the interval is narrow, or the runs were many or long."""
        narrow = self.margin_us <= max(RELATIVE_MARGIN * self.mean_us, MARGIN_US)
        long = self.count >= MAX_SAMPLES or self.mean_us * self.count > MAX_TIME_US
        return self.count >= BATCH and (narrow or long)
