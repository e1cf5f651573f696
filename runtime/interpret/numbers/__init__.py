"""Numbers of each element type in numpy: formats, rounding, exact results, constants and text."""
