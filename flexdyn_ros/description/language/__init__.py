"""What an element and an attribute of `<flexdyn>` are, and how text becomes statements."""
