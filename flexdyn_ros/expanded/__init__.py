"""Records, frames and shapes of the expanded description, shared by the families."""
