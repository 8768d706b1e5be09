"""Where a parameter of a study goes: attributes of the URDF, parameters of a loaded robot."""
