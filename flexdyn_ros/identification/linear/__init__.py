"""Numbers that efforts are linear in: rows of the regressor, least squares, inertias that bodies can have."""
