"""Parts of multibody systems: what families of robots are put together from."""
