"""What follows from the verbs: states of rest, modes of vibration, partial motion, bounds of steps."""
