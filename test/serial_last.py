"""Sharing tests between processes: long files go first, real-time tests last and alone."""

from __future__ import annotations

import re
from functools import cache

from xdist.scheduler import LoadFileScheduling

#: `pytest.mark.realtime`, as a mark of one test or of the whole file
_MARK = re.compile(r"\bmark\.realtime\b")
#: files of more than some three seconds, those that wait and those that compute by turns, each the longest
#: first: they are begun first (a new one needs no line here)
LONGEST = (
    "test/nodes/test_processes.py",
    "test/test_docs.py",
    "test/architecture/test_pages.py",
    "test/view/test_browser_scene.py",
    "test/test_examples.py",
    "test/scripts/test_setup.py",
    "test/studies/test_engine.py",
    "test/nodes/test_cylinder_markers.py",
    "test/identification/test_recorded_families.py",
    "test/identification/test_fit_output.py",
    "test/nodes/test_bending_control.py",
    "test/test_notebooks.py",
    "test/families/platform/test_platforms_beside.py",
    "test/nodes/test_follow_trajectory.py",
    "test/description/test_hostile_text.py",
    "test/nodes/test_controllers.py",
    "test/export/test_ros2_control_mechanisms.py",
    "test/multibody/test_elements.py",
    "test/robot/test_taped_linearization.py",
    "test/nodes/test_up.py",
    "test/nodes/test_external_oil.py",
    "test/export/test_fmu.py",
    "test/test_benchmarks.py",
    "test/cli/test_streams.py",
    "test/view/test_browser_links.py",
    "test/export/test_oil_of_trees.py",
    "test/multibody/test_hydraulics.py",
    "test/export/test_loops.py",
    "test/identification/test_recordings.py",
    "test/nodes/test_recorder.py",
    "test/simulation/test_recording.py",
    "test/test_demos.py",
    "test/view/test_live_topics.py",
    "test/view/test_browser.py",
    "test/robot/test_parameters_of_families.py",
    "test/nodes/test_hexapod_arm_processes.py",
    "test/cli/test_names.py",
    "test/multibody/test_boom.py",
    "test/nodes/test_publisher.py",
    "test/simulation/test_default_runs.py",
    "test/nodes/test_followed_trajectory.py",
    "test/nodes/test_chaos_lockstep.py",
    "test/test_api_examples.py",
    "test/nodes/test_pose_controllers.py",
    "test/multibody/test_random_oil.py",
    "test/multibody/test_oil_on_trees.py",
    "test/families/platform/test_platform_checks.py",
    "test/identification/test_files.py",
    "test/nodes/test_continuum_processes.py",
    "test/derivation/test_derive.py",
    "test/architecture/test_serial_last.py",
    "test/view/test_viewer.py",
    "test/numerics/test_without_numba.py",
    "test/export/test_hydraulics.py",
    "test/control/test_tracking_with_loops.py",
    "test/families/trees/test_lagrange_flexible.py",
    "test/architecture/test_walks.py",
    "test/nodes/test_caller.py",
    "test/multibody/test_joints.py",
    "test/nodes/test_closed_control.py",
    "test/identification/test_actuator_outputs.py",
    "test/identification/test_base_of_families.py",
    "test/scripts/test_wheel_kernels.py",
    "test/identification/test_written.py",
    "test/export/test_tracing.py",
    "test/studies/test_analysis.py",
    "test/view/test_plots.py",
    "test/description/test_xacro_process.py",
    "test/description/test_fuzz.py",
    "test/families/trees/test_flexible_robot.py",
    "test/multibody/test_loops_in_time.py",
    "test/identification/test_fit_linear.py",
    "test/nodes/test_played_back.py",
    "test/identification/test_closed_outputs.py",
    "test/view/test_first_scene.py",
    "test/export/test_native.py",
    "test/bridges/test_autodiff.py",
    "test/numerics/test_compiler.py",
    "test/identification/test_closed_mechanisms.py",
    "test/export/test_elements.py",
    "test/nodes/test_flexible_processes.py",
    "test/architecture/test_rooms.py",
    "test/nodes/test_hostile_descriptions.py",
    "test/export/test_controller_fmu.py",
    "test/families/trees/test_pinocchio.py",
    "test/export/test_specialized_loops.py",
    "test/families/platform/test_mounted_uses.py",
    "test/view/test_kept.py",
    "test/cli/test_width.py",
    "test/export/test_ros2_control_oil.py",
    "test/export/test_c_code.py",
    "test/robot/test_parameters.py",
    "test/cli/test_use.py",
    "test/nodes/test_topics.py",
    "test/nodes/test_cpp_client.py",
    "test/test_hostile_files.py",
    "test/nodes/test_ending.py",
    "test/cli/test_main.py",
    "test/nodes/test_colcon.py",
    "test/nodes/test_foxglove.py",
    "test/families/trees/test_properties.py",
    "test/hydraulics/test_oil_states.py",
    "test/simulation/test_prescribed_joints.py",
    "test/launch/test_launch_files.py",
    "test/nodes/test_mobile_processes.py",
    "test/identification/test_held.py",
    "test/launch/test_rviz_files.py",
    "test/view/test_overlays.py",
    "test/nodes/test_long_requests.py",
    "test/numerics/test_packages.py",
    "test/view/test_pictures.py",
    "test/identification/test_on_the_node.py",
    "test/nodes/test_parameter_files.py",
    "test/nodes/test_platform_processes.py",
    "test/view/test_visitors.py",
    "test/scripts/test_setup_waits.py",
    "test/numerics/test_warmup.py",
    "test/nodes/test_hydraulic_actuators.py",
    "test/nodes/test_silence.py",
    "test/nodes/test_oil_faults.py",
    "test/nodes/test_executor.py",
    "test/export/test_joint_types.py",
    "test/test_limited_process.py",
    "test/test_ownership.py",
)


class SerialLast(LoadFileScheduling):
    """As `--dist loadfile`, but files with a test marked `realtime` are kept back until all others are done.

    One process then runs them, while the others have ended. The files LONGEST go first, so that no process is
    left alone with one; then those with the most tests.
    """

    longest = LONGEST

    def __init__(self, config, log=None) -> None:
        super().__init__(config, log)
        self._is_kept = cache(self._is_kept)  # asked after every test
        self._in_order = False

    def _is_kept(self, scope: str) -> bool:
        path = self.config.rootpath / scope
        return path.is_file() and _MARK.search(path.read_text()) is not None

    def _only_kept_are_left(self) -> bool:
        """Put the files kept back behind the others; True if there is nothing but them."""
        for scope in [scope for scope in self.workqueue if self._is_kept(scope)]:
            self.workqueue.move_to_end(scope)
        return bool(self.workqueue) and self._is_kept(next(iter(self.workqueue)))

    def remove_node(self, node):
        """A test that ends its process is not begun again; nor is a file handed out that is done.

        LoadFileScheduling does both: the first would end one process after the other, the second leaves one
        with nothing to tell of, which nobody ends.
        """
        work = self.assigned_work[node]
        for scope in [scope for scope, tests in work.items() if all(tests.values())]:
            del work[scope]
        if not work:
            return super().remove_node(node)
        scope, tests = next(iter(work.items()))
        crashed = next(test for test, is_done in tests.items() if not is_done)
        tests[crashed] = True
        if all(tests.values()):
            del work[scope]
        super().remove_node(node)
        return crashed

    def _assign_work_unit(self, node) -> None:
        if node not in self.registered_collections:
            return  # a process in the place of one that has ended: it asks when it has collected the tests
        if not self._in_order:
            self._in_order = True
            for scope in reversed(self.longest):
                if scope in self.workqueue:
                    self.workqueue.move_to_end(scope, last=False)
        if self._only_kept_are_left():
            self._wind_down()
        elif self.workqueue:
            super()._assign_work_unit(node)

    def _reschedule(self, node) -> None:
        super()._reschedule(node)
        if self._only_kept_are_left():
            self._wind_down()

    def _wind_down(self) -> None:
        """Let one process stay, and give it what was kept back once the others are done.

        A process begins a test only when it knows the next one, or that there is none: the one that stays may
        have a last test open until then.
        """
        staying = [node for node in self.nodes if not node.shutting_down]
        for node in staying[1:]:
            node.shutdown()
        others = [work for node, work in self.assigned_work.items() if node not in staying[:1]]
        if not staying or any(self._pending_of(work) for work in others):
            return
        while self.workqueue:
            super()._assign_work_unit(staying[0])
        staying[0].shutdown()
