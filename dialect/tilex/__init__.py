"""Extensions of Tile IR: views of a tensor as the columns of a convolution (README.md)."""
