"""A PBS client that is not ours talks to the server: log-in, datastores, snapshots, files, one blob; users, tokens and rules
are changed with a ticket and with a token.

Started by `cargo xtask test proxmoxer` with FLEETHOLD_BIN and FLEETHOLD_GOLDEN set. Closes with
`N passed, N failed`.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import urllib3
from proxmoxer import ProxmoxAPI
from proxmoxer.core import AuthenticationError, ResourceException

GOLDEN = pathlib.Path(os.environ["FLEETHOLD_GOLDEN"])
STORE = GOLDEN / "store"
START_SECONDS = 60


class Server:
    """The real server over the golden store, in a state directory that goes when it stops."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="fleethold-pbs-")
        base = pathlib.Path(self.dir.name)
        base.chmod(0o755)  # PostgreSQL runs as another user when we are root
        self.env = os.environ | {
            "FLEETHOLD_STATE_DIR": str(base / "state"),
            "FLEETHOLD_CONFIG_DIR": str(base / "state/etc"),
            "FLEETHOLD_RUN_DIR": str(base / "run"),
        }
        self.cli("store", "add", "golden", str(STORE))
        ready = base / "ready.json"
        self.log = open(base / "server.log", "wb")
        self.process = subprocess.Popen(
            [os.environ["FLEETHOLD_BIN"], "serve", "--listen", f"127.0.0.1:{free_port()}", "--ready-file", str(ready)],
            env=self.env,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + START_SECONDS
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError("the server did not start:\n" + (base / "server.log").read_text())
            time.sleep(0.05)
        said = json.loads(ready.read_text())
        self.host, self.port = said["url"].removeprefix("https://").rstrip("/").rsplit(":", 1)
        self.user = said["user"]
        self.password = pathlib.Path(said["password_file"]).read_text().strip()

    def cli(self, *arguments):
        subprocess.run([os.environ["FLEETHOLD_BIN"], *arguments], env=self.env, check=True)

    def client(self, password=None, user=None):
        return ProxmoxAPI(
            self.host,
            port=int(self.port),
            user=user or self.user,
            password=password or self.password,
            verify_ssl=False,
            service="PBS",
        )

    def token_client(self, user, name, secret):
        return ProxmoxAPI(
            self.host,
            port=int(self.port),
            user=user,
            token_name=name,
            token_value=secret,
            verify_ssl=False,
            service="PBS",
        )

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()
        self.dir.cleanup()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def golden_files():
    return json.loads((GOLDEN / "expected.json").read_text())["files"]


def check_version(server):
    assert server.client().version.get()["release"] is not None


def check_wrong_password(server):
    try:
        server.client(password="not the password").version.get()
    except AuthenticationError:
        return
    raise AssertionError("a wrong password was accepted")


def check_datastores(server):
    stores = server.client().admin.datastore.get()
    assert [entry["store"] for entry in stores] == ["golden"], stores


def check_snapshots(server):
    found = server.client().admin.datastore("golden").snapshots.get()
    expected = {entry["snapshot"] for entry in golden_files() if entry["ns"] == ""}
    named = {
        f"{s['backup-type']}/{s['backup-id']}/{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(s['backup-time']))}"
        for s in found
    }
    assert expected <= named, expected - named


def check_namespaces(server):
    found = server.client().admin.datastore("golden").namespace.get()
    assert {"", "prod", "prod/db"} <= {entry["ns"] for entry in found}, found


SNAPSHOT = {"backup-type": "vm", "backup-id": "100", "backup-time": 1714557600}


def check_files(server):
    found = server.client().admin.datastore("golden").files.get(**SNAPSHOT)
    names = {entry["filename"] for entry in found}
    assert {"drive-scsi0.img.fidx", "qemu-server.conf.blob", "index.json.blob"} <= names, names


def check_blob(server):
    arguments = SNAPSHOT | {"file-name": "qemu-server.conf.blob"}
    reply = server.client().admin.datastore("golden").download.get(**arguments)
    # proxmoxer hands over a body that is no JSON under this name
    body = reply["errors"]
    body = body if isinstance(body, bytes) else body.encode("latin-1")
    stored = (STORE / "vm/100/2024-05-01T10:00:00Z/qemu-server.conf.blob").read_bytes()
    assert body == stored, f"{len(body)} bytes, expected {len(stored)}"


def check_unknown_store(server):
    try:
        server.client().admin.datastore("nowhere").snapshots.get()
    except ResourceException as error:
        assert error.status_code in (400, 403, 404), error
        return
    raise AssertionError("snapshots of a store that does not exist")


def admin_by_token(server):
    """A client that may do everything, with an API token made for it."""
    admin = server.client()
    name = f"admin{time.monotonic_ns()}"
    made = admin.access.users(server.user).token(name).post(comment="for a check")
    assert made["tokenid"] == f"{server.user}!{name}", made
    admin.access.acl.put(**{"path": "/", "role": "Admin", "auth-id": made["tokenid"]})
    return server.token_client(server.user, name, made["value"])


def refused(call, *statuses):
    try:
        call()
    except ResourceException as error:
        assert error.status_code in statuses, error
        return error
    raise AssertionError(f"expected one of {statuses}")


def change_everything(server, admin, user):
    """Users, tokens and rules: made, read, changed, used, deleted."""
    password = "a password of its own"
    admin.access.users.post(userid=user, password=password, comment="by proxmoxer", email="who@example.org")
    refused(lambda: admin.access.users.post(userid=user, password=password), 400)
    found = admin.access.users(user).get()
    assert found["comment"] == "by proxmoxer" and "enable" not in found, found
    admin.access.users(user).put(firstname="Who", delete=["comment", "email"])
    found = admin.access.users(user).get()
    assert found == {"userid": user, "firstname": "Who"}, found

    made = admin.access.users(user).token("robot").post(comment="nightly")
    assert [t["token-name"] for t in admin.access.users(user).token.get()] == ["robot"]
    tokenid = made["tokenid"]
    for who in (user, tokenid):
        admin.access.acl.put(**{"path": "/datastore/golden", "role": "DatastoreReader", "auth-id": who})
    rules = [rule for rule in admin.access.acl.get() if rule["ugid"] in (user, tokenid)]
    assert len(rules) == 2 and all(rule["propagate"] for rule in rules), rules

    own = server.client(user=user, password=password)
    robot = server.token_client(user, "robot", made["value"])
    for client in (own, robot):
        assert [entry["store"] for entry in client.admin.datastore.get()] == ["golden"]
        assert client.admin.datastore("golden").status.get()["total"] > 0
        permissions = client.access.permissions.get(path="/datastore/golden")
        assert "Datastore.Read" in permissions["/datastore/golden"], permissions
        refused(lambda: client.access.users.post(userid="evil@pbs"), 403)

    fresh = admin.access.users(user).token("robot").put(regenerate=1)
    refused(lambda: robot.version.get(), 401)
    assert server.token_client(user, "robot", fresh["secret"]).version.get()["release"] is not None
    admin.access.acl.put(**{"path": "/datastore/golden", "role": "DatastoreReader", "auth-id": user, "delete": 1})
    assert own.admin.datastore.get() == []
    admin.access.users(user).token("robot").delete()
    assert admin.access.users(user).token.get() == []
    refused(lambda: admin.access.users(user).put(comment="late", digest="0" * 64), 400)
    admin.access.users(user).delete()
    refused(lambda: admin.access.users(user).get(), 404)
    assert not [rule for rule in admin.access.acl.get() if rule["ugid"] in (user, tokenid)]


def check_changes_with_a_ticket(server):
    change_everything(server, server.client(), "ticket@pbs")


def check_changes_with_a_token(server):
    change_everything(server, admin_by_token(server), "token@pbs")


def check_roles(server):
    roles = {role["roleid"]: role["privs"] for role in server.client().access.roles.get()}
    assert roles["DatastoreBackup"] == ["Datastore.Backup"], roles


CHECKS = [
    check_roles,
    check_changes_with_a_ticket,
    check_changes_with_a_token,
    check_version,
    check_wrong_password,
    check_datastores,
    check_namespaces,
    check_snapshots,
    check_files,
    check_blob,
    check_unknown_store,
]


def main():
    urllib3.disable_warnings()  # the server signs its own certificate
    server = Server()
    passed = failed = 0
    try:
        for check in CHECKS:
            try:
                check(server)
                passed += 1
                print(f"ok      {check.__name__}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {check.__name__}\n{traceback.format_exc()}", flush=True)
    finally:
        server.stop()
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
