"""`python -m flexdyn_ros.nodes.simulator`."""

from flexdyn_ros.nodes.simulator.node import main

if __name__ == "__main__":
    main()
