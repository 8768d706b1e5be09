"""What moves a robot in time: fixed steps, error control, integrators outside."""
