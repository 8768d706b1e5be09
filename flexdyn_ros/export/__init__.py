"""One robot, every target: its equations as C, as symbols, and compiled for itself."""
