"""`python -m flexdyn_ros.nodes.state_publisher`."""

from flexdyn_ros.nodes.state_publisher.node import main

if __name__ == "__main__":
    main()
