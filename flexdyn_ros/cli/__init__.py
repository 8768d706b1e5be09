"""The `flexdyn` command."""
