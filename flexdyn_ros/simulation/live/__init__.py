"""A simulated robot that runs in real time and takes commands; without ROS."""
