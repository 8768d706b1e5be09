"""ROS 2 nodes: they carry numbers between messages and the library, and compute nothing themselves."""
