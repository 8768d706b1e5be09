"""Who gets the page of a viewer: raw requests, hosts and origins, and the library underneath."""

import socket
from types import SimpleNamespace

import pytest
from pendulums import double_pendulum
from visits import EVIL, HERE, answer, viser

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.view import Viewer, guard
from flexdyn_ros.view.visitors import Visitors


@pytest.fixture(scope="module")
def viewer():
    made = Viewer(double_pendulum(), port=8400, allow_hosts=["robot.example", "tunnel.example:9000"])
    yield made
    made.close()


# ---- requests as they stand on the wire ----


@pytest.mark.parametrize("upgrade", [False, True], ids=["page", "web socket"])
@pytest.mark.parametrize(
    "host",
    [EVIL, "evil.example", "localhost:1", "localhost", "127.0.0.1:80", "localhost.evil.example:{port}",
     "127.0.0.1.evil.example:{port}", "[::2]:{port}", "192.168.7.7:{port}", "tunnel.example:{port}"],
)  # fmt: skip
def test_a_foreign_host_is_refused_as_dns_rebinding_would_send_it(viewer, host, upgrade):
    status, body = answer(viewer.port, f"Host: {host}", f"Origin: http://{host}", upgrade=upgrade)
    assert status == 421
    assert b"--allow-host" in body or upgrade
    assert answer(viewer.port, f"Host: {host}", upgrade=upgrade)[0] == 421


@pytest.mark.parametrize("upgrade", [False, True], ids=["page", "web socket"])
@pytest.mark.parametrize(
    "hosts",
    [(), (HERE, HERE), (HERE, EVIL), ("",), ("user@localhost:{port}",), ("localhost:{port}/",),
     ("localhost:port",), ("localhost:{port}, evil.example",), ("[::1:{port}",), ("l\xf6calhost:{port}",)],
)  # fmt: skip
def test_a_request_needs_one_host_that_is_one(viewer, hosts, upgrade):
    assert answer(viewer.port, *(f"Host: {host}" for host in hosts), upgrade=upgrade)[0] == 400


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://" + EVIL, "https://" + HERE, "http://localhost", "http://localhost:1",
     "null", "", "http://127.0.0.1:{port}", "file://", "http://localhost:{port}.evil.example",
     "http://tunnel.example", "ftp://robot.example", "chrome-extension://localhost:{port}"],
)  # fmt: skip
def test_a_web_socket_of_another_page_is_refused(viewer, origin):
    assert answer(viewer.port, f"Host: {HERE}", f"Origin: {origin}", upgrade=True)[0] == 403


def test_two_origins_are_refused(viewer):
    own = f"Origin: http://{HERE}"
    assert answer(viewer.port, f"Host: {HERE}", own, own, upgrade=True)[0] == 403


@pytest.mark.parametrize(
    ("host", "origin"),
    [(HERE, "http://" + HERE), ("LOCALHOST:{port}", "http://" + HERE), (HERE, None),
     ("127.0.0.1:{port}", "http://127.0.0.1:{port}"), ("[::1]:{port}", "http://[::1]:{port}"),
     ("robot.example", "https://robot.example"), ("robot.example:81", "http://robot.example:81"),
     ("tunnel.example:9000", "http://tunnel.example:9000"), (HERE, "https://robot.example:8443")],
)  # fmt: skip
def test_own_pages_and_programs_without_origin_come_in(viewer, host, origin):
    headers = [f"Host: {host}"] + ([] if origin is None else [f"Origin: {origin}"])
    assert answer(viewer.port, *headers, upgrade=True)[0] == 101
    status, body = answer(viewer.port, *headers)
    assert status == 200
    assert b"<!doctype html>" in body[:100].lower()


def test_the_address_that_a_request_came_to_is_no_foreign_host():
    """A viewer on all addresses is visited by their numbers, which no name server can forge."""
    visitors = Visitors("0.0.0.0")
    for host, address in (
        ("192.168.1.5:8080", ("192.168.1.5", 8080)),
        ("192.168.1.5:8080", ("::ffff:192.168.1.5", 8080, 0, 0)),
        ("[fe80::1]:8080", ("fe80:0::1", 8080, 0, 0)),
        ("192.168.1.5", ("192.168.1.5", 80)),
    ):
        assert visitors.refusal([host], [], address) is None
        assert visitors.refusal([host], ["http://evil.example"], address)[0] == 403
    assert visitors.refusal(["192.168.1.6:8080"], [], ("192.168.1.5", 8080))[0] == 421
    assert visitors.refusal(["robot-pc:8080"], [], ("192.168.1.5", 8080))[0] == 421
    assert Visitors("robot-pc").refusal(["Robot-PC:8080"], [], ("192.168.1.5", 8080)) is None


@pytest.mark.parametrize("name", ["*", "http://robot.example", "robot.example/", "", "a b", "a:port"])
def test_an_allowed_host_must_be_a_name(name):
    with pytest.raises(FlexdynError, match="expected NAME or NAME:PORT"):
        Visitors("127.0.0.1", [name])


@pytest.mark.parametrize(
    "path",
    ["/../../../../../../../../etc/passwd", "/..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd",
     "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/%2fetc%2fpasswd",
     "/..\\..\\..\\..\\..\\..\\..\\..\\etc\\passwd", "/..%5c..%5c..%5c..%5c..%5c..%5cetc%5cpasswd",
     "/etc/passwd", "//etc/passwd", "/.//..//etc", "/%252e%252e/%252e%252e/etc/passwd", "/%00",
     "/../build/index.html", "/../../_viser.py", "/" + "a" * 3000, "file:///etc/passwd",
     "/index.html/../../../package.json"],
)  # fmt: skip
def test_a_path_leads_to_no_file_beyond_the_page(viewer, path):
    status, body = answer(viewer.port, f"Host: {HERE}", path=path)
    assert status in (404, 500)
    assert len(body) < 200
    assert b"root:" not in body


def test_by_default_only_this_machine_reaches_the_viewer(viewer):
    def addresses(family, start):
        # address:port of the listening sockets, as the system lists them
        with open(f"/proc/net/{family}") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        return [
            row[1].split(":")[0] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == start
        ]

    assert addresses("tcp", viewer.port) == ["0100007F"]
    assert addresses("tcp6", viewer.port) == []


# ---- the library underneath ----


def test_the_guard_holds_for_every_server_of_the_viewer_and_for_no_other(viewer):
    """Fails when viser no longer begins its server as the guard expects: see view/guard.py."""
    import websockets
    from viser.infra import _infra

    assert _infra.websockets is websockets
    free = viser.ViserServer(host="127.0.0.1", port=8450, verbose=False)
    try:
        assert answer(free.get_port(), f"Host: {EVIL}")[0] == 200
    finally:
        free.stop()
    assert answer(viewer.port, f"Host: {EVIL}")[0] == 421


def test_a_library_that_cannot_be_guarded_is_not_used(monkeypatch):
    from viser.infra import _infra

    # as if viser took the function by another way
    monkeypatch.setattr(guard, "_Overlay", lambda below, **own: below)
    with pytest.raises(FlexdynError, match="who visits"):
        guard.guarded_server(Visitors("127.0.0.1"), "127.0.0.1", 8460, lambda: "x")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", 8460), timeout=5.0)
    monkeypatch.setattr(_infra, "websockets", SimpleNamespace())
    with pytest.raises(FlexdynError, match="who visits"):
        guard.guarded_server(Visitors("127.0.0.1"), "127.0.0.1", 8460, lambda: "x")


def test_messages_that_the_guard_knows_are_messages_of_the_library():
    """Field by field, so that a new version of viser is noticed here and not by a page that stands still."""
    from viser import _messages

    from flexdyn_ros.view.visitors import _DECODERS

    for kind, decoder in _DECODERS.items():
        theirs = {f for f in getattr(_messages, kind).__dataclass_fields__ if f != "excluded_self_client"}
        assert set(decoder.type.__struct_fields__) - {"type"} == theirs, kind


def test_the_command_passes_hosts_on(monkeypatch):
    from typer.testing import CliRunner

    from flexdyn_ros.cli import app
    from flexdyn_ros.cli import view as command

    given = {}

    def made(robot, **options):
        given.update(options)
        return SimpleNamespace(robot=robot, address="there", close=lambda: None)

    monkeypatch.setattr("flexdyn_ros.view.viewer.Viewer", made)
    monkeypatch.setattr(command, "_wait", lambda: None)
    hosts = ["--allow-host", "robot-pc", "--allow-host", "localhost:9000"]
    done = CliRunner().invoke(app, ["view", "seven_joint_arm", "--still", *hosts])
    assert done.exit_code == 0, done.output
    assert given["host"] == "127.0.0.1"
    assert list(given["allow_hosts"]) == ["robot-pc", "localhost:9000"]


def test_a_wrong_name_is_told_by_the_command():
    from typer.testing import CliRunner

    from flexdyn_ros.cli import app

    done = CliRunner().invoke(app, ["view", "seven_joint_arm", "--still", "--allow-host", "http://robot"])
    assert done.exit_code != 0
    assert "expected NAME or NAME:PORT" in " ".join((done.output + str(done.exception)).split())
