"""Functions of the verbs by a family's entries and C functions (numerics/verbs)."""
