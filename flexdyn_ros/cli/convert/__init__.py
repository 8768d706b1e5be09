"""Commands that write a robot in another form."""
