"""Compiled steps of trees with elastic joints."""
