"""Which entries of this package are compiled beforehand: patterns of MODULE.FUNCTION.

Every package of kernels has a module of this name, with any of DEMO, START, RARE and LONGEST. The warm-up
finds the package by it (kernels/warmup_names.py).
"""

#: what few people call and what takes long: second formulations, exact derivatives of soft, wheeled and
#: hydraulic robots, trees on wheels that are not planar, mass matrices of mimic joints
RARE = (
    "coriolis.*",
    "lagrange*",
    "tree_wheels*",
    "*.accelerate_densely",
    "*.partial_dynamics_many",
    "*.momenta_many",
    "continuum.inverse_dynamics_derivatives_many",
    "mobile.inverse_dynamics_derivatives_many",
    "mobile.joint_forces_many",
    "platform_verbs.balance_derivatives_many",
    "platform_verbs.reactions_many",
    "hydraulics_forces.report",
)

#: what scripts/demo calls: Canadarm2 with flexible and with rigid booms, simulated and slewed
DEMO = (
    "steppers.*",
    "flexible_steps.*",
    "rigid_steps.*",
    "expanded.bent_frames",
    "flexible.prepare_one",
    "flexible.inverse_dynamics_one",
    "flexible.forward_dynamics_one",
    "flexible.mass_matrix_one",
    "flexible.mass_matrix_many",
    "flexible.bias_terms_many",
    "flexible.energy_many",
    "flexible.inverse_dynamics_derivatives_many",
    "rigid.prepare_one",
    "rigid.inverse_dynamics_one",
    "rigid.forward_dynamics_one",
    "rigid.mass_matrix_one",
    "rigid.mass_matrix_many",
    "rigid.bias_terms_many",
    "rigid.energy_many",
    "rigid.difference_many",
    "rigid.integrate_many",
    "rigid.inverse_dynamics_derivatives_many",
)

#: what everybody waits for beside DEMO: with it at most five minutes of processor time. Batches, wrenches and
#: the other families compile when they are first called
START = (
    "steppers_controlled.*",
    "rigid.frames_many",
    "rigid.jacobian_many",
    "flexible.frames_many",
    "flexible.jacobian_many",
)

#: what takes longest to compile, and so is begun first
LONGEST = ("flexible_steps.accelerate*",)
