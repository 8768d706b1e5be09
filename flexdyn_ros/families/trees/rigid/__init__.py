"""Trees of rigid bodies: their model, and payloads."""
