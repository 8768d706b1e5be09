"""`state_publisher`: transforms and markers of a robot that bends."""
