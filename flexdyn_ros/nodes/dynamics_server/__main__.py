"""`python -m flexdyn_ros.nodes.dynamics_server`."""

from flexdyn_ros.nodes.dynamics_server.node import main

if __name__ == "__main__":
    main()
