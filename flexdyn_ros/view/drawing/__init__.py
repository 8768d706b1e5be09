"""What is drawn of a robot."""
