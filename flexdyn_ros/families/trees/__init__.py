"""Trees of rigid bodies and flexible links."""
