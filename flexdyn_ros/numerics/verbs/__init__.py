"""What Python may call of any family: one entry per verb, made from the family's kernels."""
