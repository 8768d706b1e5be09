"""Records of the elements, and how they are built from statements."""
