"""The recursive Lagrangian path: a second formulation of trees."""
