"""ROS 2 nodes: they carry numbers between messages and the library, and compute nothing themselves."""

import sys

if sys.argv[:1] == ["-m"] and any(word.startswith("flexdyn_ros.nodes.") for word in sys.orig_argv):
    # `python -m flexdyn_ros.nodes.NODE` imports for seconds before it can listen to signals in its own way
    from flexdyn_ros.nodes.ros.start_watch import stand_by
    from flexdyn_ros.nodes.starting import end_at_signals

    end_at_signals()
    stand_by()
