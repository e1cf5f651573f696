"""The values of the expressions of a kernel during compilation, and the frames of its calls."""
