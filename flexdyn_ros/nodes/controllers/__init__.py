"""What the controllers share: references, goals, tolerances, parameters."""
