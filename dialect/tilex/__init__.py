"""Extensions of Tile IR: images as the matrix of a convolution, and rows of packed elements (README.md)."""
