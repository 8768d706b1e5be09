"""Topics, services and actions that several nodes have."""
