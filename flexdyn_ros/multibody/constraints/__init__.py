"""Constraints between frames: closed joints (loops)."""
