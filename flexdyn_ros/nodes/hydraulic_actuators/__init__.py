"""`hydraulic_actuators`: servo-hydraulic legs."""
