"""Models: read-only arrays that kernels work on, built from descriptions."""
