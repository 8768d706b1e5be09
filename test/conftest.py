"""What all tests share: reproducible drawing, and ROS that stays on this machine."""

import os
import random

import pytest

# a run started without scripts/test must not be heard by anything else either
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randint(1, 100)))

# processes that share the tests do not hear each other's nodes
worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
os.environ["ROS_DOMAIN_ID"] = str((int(os.environ["ROS_DOMAIN_ID"]) + int(worker) - 1) % 101 + 1)

try:
    import hypothesis
except ImportError:
    hypothesis = None

if hypothesis is not None:
    # compiling a kernel makes the first example slow, and the failing example is printed with its blob
    hypothesis.settings.register_profile("flexdyn", deadline=None, print_blob=True)
    hypothesis.settings.load_profile("flexdyn")


def pytest_report_header():
    return f"ROS_DOMAIN_ID={os.environ['ROS_DOMAIN_ID']} HYPOTHESIS=flexdyn profile"


def pytest_collection_modifyitems(items):
    """Tests marked `ros` say why they do not run where there is no ROS."""
    marked = [item for item in items if item.get_closest_marker("ros")]
    if not marked:
        return
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        skip = pytest.mark.skip(reason=f"ROS 2 cannot be imported here ({error})")
        for item in marked:
            item.add_marker(skip)
