"""Elastic joints: motors behind springs, around the verbs of a tree."""
