"""What each family of robots computes: from its description to numbers."""
