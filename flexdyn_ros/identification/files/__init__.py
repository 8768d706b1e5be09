"""Files of measurements, their columns and units."""
