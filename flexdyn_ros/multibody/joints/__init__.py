"""Joint types, one module each: names, limits, screws or kernel, and the joints that show them."""
