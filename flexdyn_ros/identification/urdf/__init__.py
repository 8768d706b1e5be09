"""Numbers written into the user's own description, and nothing else changed."""
