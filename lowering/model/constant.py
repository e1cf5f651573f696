"""A constant of a device: its value, how certain it is, and who states or measured it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

VENDOR, MEASURED, DERIVED, ASSUMED = "vendor", "measured", "derived", "assumed"
CERTAINTIES = {
    VENDOR: "NVIDIA's data sheets and manuals",
    MEASURED: "published measurement by the named source",
    DERIVED: "computed from vendor figures or published measurements",
    ASSUMED: "no trustworthy measurement of this device is public",
}
# Sources by their short names; docs/cost_model.md lists them.
SOURCES = {
    "SEMI": "SemiAnalysisAI/microbench-blackwell, on B200",
    "QRC": "ademeure/QuickRunCUDA, B300_PIPE_CATALOG.md, on B300",
    "META": "facebookexperimental/triton, latency model of the modulo scheduler, on B200",
    "TILESIGHT": "TileSight, micro-benchmarks on H200",
    "CUTILE-RS": "NVlabs/cutile-rs, cutile-benchmarks/paper, on B200",
    "QUACK": "Dao-AILab/quack, on H100",
    "PROBES": "benchmarks/hopper/constants.py, on H200; all figures in benchmarks/results/h200.md",
    "2402.13499": "arXiv 2402.13499, micro-benchmarks of Hopper",
    "DECISIONS": "docs/decisions/accesses.md, on H200",
    "PTX ISA": "NVIDIA, Parallel Thread Execution ISA 9.0",
    "guide": "NVIDIA, CUDA C++ programming guide",
    "data sheet": "NVIDIA, data sheets of B200, H200 SXM and H100 SXM",
}


@dataclass(frozen=True)
class Constant:
    """The value of a quantity on one device.

    Attributes:
        value: the value, in the unit of the quantity (constants.py).
        source: the publication or program that states or measured it.
        certainty: a key of CERTAINTIES.
    """

    value: float
    source: str
    certainty: str


vendor = partial(Constant, certainty=VENDOR)
measured = partial(Constant, certainty=MEASURED)
derived = partial(Constant, certainty=DERIVED)
assumed = partial(Constant, certainty=ASSUMED)


def probed(value: float, note: str = "") -> Constant:
    """A measurement by benchmarks/hopper/constants.py."""
    return measured(value, f"PROBES{': ' * bool(note)}{note}")
