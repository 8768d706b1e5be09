"""What nodes share: life cycle, parameters, messages, topics."""
