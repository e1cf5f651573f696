"""The dialect tilex with all its op groups."""

from tilec.dialect.tilex import (  # noqa: F401
    im2col,
    im2col_type,
    packed,
    packed_type,
    prefetch,
    sparse,
)
from tilec.dialect.tilex.namespace import TileX  # noqa: F401
