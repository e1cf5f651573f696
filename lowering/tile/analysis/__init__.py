"""Facts about values of Tile IR: bounds, divisors, contiguity, tiles and views. Changes nothing."""
