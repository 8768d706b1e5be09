"""Control laws as plain callables (t, q, v) -> efforts, for `simulate` and for controllers elsewhere."""
