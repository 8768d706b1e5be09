"""The web server of the viewer, and who may visit it."""
