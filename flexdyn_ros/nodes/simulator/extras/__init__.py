"""What the simulator publishes and hears beside the topics of every robot."""
