"""Numbers, no robots: algebra, compilation, steps in time."""
