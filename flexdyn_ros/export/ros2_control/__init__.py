"""A robot as hardware of ros2_control: a package around its C."""
