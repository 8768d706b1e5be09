"""Sources, xacro, and strict reading of URDF."""
