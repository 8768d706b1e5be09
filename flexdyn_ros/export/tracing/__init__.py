"""The functions of a robot as graphs of numbers (numerics/tracing), for all targets."""
