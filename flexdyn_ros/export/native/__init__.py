"""Robots compiled for this machine by its C compiler."""
