"""What keeps a node from starting: parameters that it does not have, surroundings that ROS cannot use."""
