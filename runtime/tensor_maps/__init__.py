"""Tensor maps: recipes, the expressions of their fields, and their encoding for the driver and for the simulator."""
