"""Numbers that simulated outputs depend on: experiments, channels, what is adjusted."""
