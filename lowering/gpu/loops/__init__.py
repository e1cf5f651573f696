"""Loops as parts: their names, iterations ahead, other iterations, and bodies in another order. Imports ir."""
