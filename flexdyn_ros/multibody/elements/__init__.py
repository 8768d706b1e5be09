"""Elements: what acts between the frames of links."""
