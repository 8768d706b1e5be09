"""Commands that talk to ROS 2: start nodes, call services, publish."""
