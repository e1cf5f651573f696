"""The dialect tilex with all its op groups."""

from tilec.dialect.tilex import (  # noqa: F401
    atomic,
    convert,
    im2col,
    im2col_type,
    mma,
    packed,
    packed_type,
    prefetch,
    sparse,
)
from tilec.dialect.tilex.namespace import TileX  # noqa: F401
