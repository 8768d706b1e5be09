"""Soft continuum arms: sections of constant curvature."""
