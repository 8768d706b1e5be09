"""What lives for one command of the command line."""
