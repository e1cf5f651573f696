"""Makes the generators of random modules importable by their file names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "generated"))
