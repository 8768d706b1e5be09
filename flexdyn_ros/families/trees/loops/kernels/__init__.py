"""Compiled closures: loops from the motion of the frames that carry them."""
