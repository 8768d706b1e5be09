"""Compiled residuals of constraints."""
