"""Beams and their assumed or imported modes: stiffness, mass, shapes, integrals."""
