"""`python -m flexdyn_ros.nodes.hydraulic_actuators`."""

from flexdyn_ros.nodes.hydraulic_actuators.node import main

if __name__ == "__main__":
    main()
