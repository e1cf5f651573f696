"""The dialect tilex with all its op groups."""

from tilec.dialect.tilex import (  # noqa: F401
    packed,
    packed_type,
    types,
    view,
)
from tilec.dialect.tilex.namespace import TileX  # noqa: F401
