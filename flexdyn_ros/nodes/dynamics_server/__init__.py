"""`dynamics_server`: the verbs as services."""
