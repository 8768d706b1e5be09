"""The soft arms that several files of this folder share."""

import pytest
from soft_arms import one, two_sections

import flexdyn_ros


@pytest.fixture(scope="module")
def arm():
    return one()


@pytest.fixture(scope="module")
def two():
    return two_sections()


@pytest.fixture(scope="module")
def paper():
    return flexdyn_ros.load("soft_arm")
