"""Trees with elements between frames: springs, dampers, cylinders, around the verbs of the tree."""
