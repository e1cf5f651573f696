"""What the code of a kernel is: uses of values and slots, places, effects, sizes of tiles. Imports the dialect only."""
