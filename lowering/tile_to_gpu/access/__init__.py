"""Facts about accesses of memory before the conversion: tensor maps, alignment, order. Imports tile and layout."""
