"""Flexible links in a tree."""
