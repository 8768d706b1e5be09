"""Dynamics of robots that bend: rigid and flexible trees, mobile arms, soft arms, hydraulic platforms."""
