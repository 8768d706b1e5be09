"""The interfaces of flexdyn_interfaces written out by hand: what the files must say, in order.

Each value is a list of sections (message: one; service: request, response; action: goal, result, feedback),
a section is text, one field `type name` per line. Constants are listed apart.
"""

BATCH = """
uint32 samples
string[] names
uint8 unlisted
float64[] positions
"""
ANSWER = """
bool success
string message
"""
MATRIX = """
uint32 rows
uint32 cols
float64[] values
"""

MESSAGES = {
    "DynamicsState": [
        """
        std_msgs/Header header
        string robot
        string[] position_names
        float64[] positions
        string[] velocity_names
        float64[] velocities
        float64[] accelerations
        string[] effort_names
        float64[] efforts
        """
    ],
    "ElementStates": [
        """
        std_msgs/Header header
        string robot
        string[] names
        float64[] values
        """
    ],
    "LinkDeflection": [
        """
        string link
        string frame_id
        float64 length
        float64[] stations
        geometry_msgs/Vector3[] displacements
        geometry_msgs/Vector3[] rotations
        geometry_msgs/Vector3[] curvatures
        float64[] strains
        geometry_msgs/Vector3[] moments
        float64[] axial_forces
        """
    ],
    "LinkDeflections": [
        """
        std_msgs/Header header
        string robot
        flexdyn_interfaces/LinkDeflection[] links
        """
    ],
    "Energy": [
        """
        std_msgs/Header header
        string robot
        float64 kinetic
        float64 gravity
        float64 elastic
        float64 total
        float64 work
        float64 dissipated
        """
    ],
    "Coordinate": [
        """
        string name
        string kind
        string unit
        int32 position_index
        int32 velocity_index
        bool actuated
        bool prescribed
        float64 lower
        float64 upper
        float64 velocity_limit
        float64 effort_limit
        """
    ],
    "ExternalWrench": [
        """
        string frame
        string axes
        geometry_msgs/Wrench wrench
        """
    ],
    "WheelStates": [
        """
        std_msgs/Header header
        string[] names
        float64[] normal_forces
        float64[] suspension_forces
        float64[] travels
        bool[] in_contact
        float64 drive_force
        float64 drive_force_with_slope
        """
    ],
    "HydraulicCommand": [
        """
        std_msgs/Header header
        uint8 mode
        string[] names
        float64[] values
        """
    ],
    "HydraulicState": [
        """
        std_msgs/Header header
        string[] names
        float64[] force
        float64[] force_hydraulic
        float64[] force_friction
        float64[] force_stop
        float64[] pressure_bore
        float64[] pressure_rod
        float64[] flow_bore
        float64[] flow_rod
        float64[] spool
        float64[] valve_command
        float64[] stroke
        uint32[] flags
        """
    ],
}

SERVICES = {
    "ListRobots": ["", "string[] names\nstring[] kinds"],
    "DescribeRobot": [
        "",
        """
        string kind
        uint32 nq
        uint32 nv
        uint32 nu
        flexdyn_interfaces/Coordinate[] coordinates
        string[] position_names
        string[] velocity_names
        string[] effort_names
        string[] frame_names
        float64 mass
        geometry_msgs/Vector3 gravity
        string description
        string expanded_description
        string[] warnings
        """,
    ],
    "MassMatrix": [BATCH, MATRIX],
    "ActuationMatrix": [BATCH, MATRIX],
    "BiasForces": [
        BATCH + "float64[] velocities",
        """
        float64[] values
        float64[] velocity
        float64[] gravity
        float64[] elastic
        float64[] damping
        float64[] external
        """,
    ],
    "InverseDynamics": [
        BATCH
        + """
        float64[] velocities
        float64[] accelerations
        flexdyn_interfaces/ExternalWrench[] wrenches
        bool free_unactuated
        """,
        "float64[] efforts",
    ],
    "ForwardDynamics": [
        BATCH
        + """
        float64[] velocities
        string[] effort_names
        float64[] efforts
        flexdyn_interfaces/ExternalWrench[] wrenches
        float64[] prescribed
        """,
        "float64[] accelerations",
    ],
    "ComputeEnergy": [
        BATCH + "float64[] velocities",
        """
        float64[] kinetic
        float64[] gravity
        float64[] elastic
        """,
    ],
    "Frames": [BATCH + "string[] frames", "geometry_msgs/Pose[] poses"],
    "Jacobian": [BATCH + "string frame", MATRIX],
    "Deflections": [
        BATCH + "float64[] stations",
        "flexdyn_interfaces/LinkDeflections[] deflections",
    ],
    "Modes": [
        BATCH
        + """
        string[] locked
        uint32 count
        """,
        """
        float64[] frequencies
        float64[] damping_ratios
        uint32 rows
        uint32 cols
        float64[] shapes
        bool unstable
        """,
    ],
    "Linearize": [
        BATCH
        + """
        float64[] velocities
        string[] effort_names
        float64[] efforts
        """,
        """
        uint32 rows
        uint32 cols_a
        float64[] a
        uint32 cols_b
        float64[] b
        """,
    ],
    "StaticEquilibrium": [
        """
        float64[] positions
        string[] held
        string[] effort_names
        float64[] efforts
        flexdyn_interfaces/ExternalWrench[] wrenches
        """,
        """
        float64[] positions
        float64[] efforts
        float64 residual
        bool stable
        """,
    ],
    "InverseKinematics": [
        """
        geometry_msgs/Pose[] poses
        geometry_msgs/Twist[] twists
        """,
        """
        float64[] lengths
        float64[] rates
        float64[] positions
        bool[] converged
        """,
    ],
    "ForwardKinematics": [
        """
        float64[] lengths
        geometry_msgs/Pose guess
        bool use_guess
        """,
        """
        geometry_msgs/Pose[] poses
        bool[] converged
        float64[] residuals
        """,
    ],
    "GetState": ["", "flexdyn_interfaces/DynamicsState state"],
    "SetState": ["flexdyn_interfaces/DynamicsState state", ""],
    "GetElementStates": ["", "flexdyn_interfaces/ElementStates states"],
    "SetElementStates": ["flexdyn_interfaces/ElementStates states", ""],
    "Step": [
        """
        uint32 steps
        string[] effort_names
        float64[] efforts
        """,
        """
        float64 time
        flexdyn_interfaces/DynamicsState state
        """,
    ],
    "ApplyWrench": [
        """
        flexdyn_interfaces/ExternalWrench wrench
        builtin_interfaces/Duration duration
        """,
        "",
    ],
    "SetPayload": [
        """
        string frame
        float64 mass
        geometry_msgs/Point com
        geometry_msgs/Inertia inertia
        """,
        "",
    ],
}
# every request begins with the robot, every response with the answer
SERVICES = {
    name: ["string robot\n" + request, ANSWER + response] for name, (request, response) in SERVICES.items()
}

ACTIONS = {
    "Simulate": [
        """
        string robot
        float64 duration
        float64 dt
        string method
        float64[] positions
        float64[] velocities
        string[] effort_names
        float64[] efforts
        """,
        ANSWER
        + """
        float64[] times
        float64[] positions
        float64[] velocities
        """,
        """
        float64 time
        float64 real_time_factor
        """,
    ],
}

# constants by file; those of a service stand in its request
UNLISTED = {"REFUSE": 0, "ZERO": 1, "STATIC": 2}
CONSTANTS = {
    "HydraulicCommand": {"VALVE": 0, "FORCE": 1},
    "HydraulicState": {
        "VALVE_SATURATED": 1,
        "STROKE_LOW": 2,
        "STROKE_HIGH": 4,
        "CAVITATION": 8,
        "OVER_PRESSURE": 16,
        "STALE_COMMAND": 32,
        "STALE_LEG_STATE": 64,
        "INPUT_REJECTED": 128,
        "FORCED_STEP": 256,
        "FORCE_UNREACHABLE": 512,
        "FAULT": 32768,
    },
} | {name: UNLISTED for name, (request, _) in SERVICES.items() if "uint8 unlisted" in request}
