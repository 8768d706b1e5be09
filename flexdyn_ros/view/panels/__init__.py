"""The controls beside the picture."""
