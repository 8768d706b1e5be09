"""Experiments of studies: functions of a robot and arguments that return named numbers and arrays."""
