"""C99 source of a robot's equations."""
