"""Commands about this machine: what is installed, what is compiled."""
