"""What drives coordinates: hydraulic cylinders with their valves, dry friction."""
