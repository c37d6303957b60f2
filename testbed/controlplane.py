"""A real Kubernetes control plane on loopback: etcd, kube-apiserver, controllers, scheduler, KWOK.

Each instance has its own ports, data, certificate authority and users, so several run side by side.
Pods never run: KWOK only plays the kubelets, which is enough for rollouts to become available. A pod that is
asked to fail by the annotation of the embedded cluster fails here as well: `stages/` says how.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import secrets
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from testbed.builds import CONTROL_PLANE, Builder
from testbed.certificates import Authority, KeyPair, signing_keys
from testbed.part import Part
from testbed.problems import PartFailed
from testbed.processes import Process
from testbed.requests import Requests

START_LIMIT = 180.0  # seconds; a warm start takes about three, a busy machine many more
CALL_LIMIT = 60.0  # seconds that one request may take on a busy machine
COMPACTION_KEY = base64.b64encode(b"testbed/compaction").decode()  # outside of what the API server looks at
SMALLEST = ("etcd", "kube-apiserver", "kubectl")
STAGES = Path(__file__).parent / "stages"
_ASKED = '.metadata.annotations["trimtab.dev/simulate"]'
_ASKED_WHERE_STARTED_AGAIN = f'select( .spec.restartPolicy != "Never" ) | {_ASKED}'
#: pods that are asked for trouble in these words are none of the business of these stages of KWOK's own
UNLESS_ASKED = {
    "pod-ready": {
        _ASKED: ["image-pull-error", "never-ready", "slow"],
        _ASKED_WHERE_STARTED_AGAIN: ["crash-loop", "fail"],
    },
    "pod-complete": {_ASKED: ["crash-loop", "fail"]},
}
#: for tests: with 110 MB more, an API server computes a fifth less
ROOMY = 400


class User(Struct, frozen=True):
    """Somebody the API server knows by a token."""

    name: str
    groups: tuple[str, ...] = ()


ADMIN = User("admin", ("system:masters",))
READER = User("reader", ("readers",))  # may read what the built-in role `view` shows, everywhere
NOBODY = User("nobody")  # known, but without any right
READERS_MAY_VIEW = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "readers-may-view"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}],
}


class ControlPlane(Part):
    """One control plane: start it with `start`, reach it with `kubeconfig`, disturb it by its processes."""

    def __init__(
        self,
        *,
        builder: Builder | None = None,
        controllers: bool = True,
        nodes: int = 1,
        watch_cache: bool = True,
        users: Sequence[User] = (),
        apiserver_flags: Sequence[str] = (),
        gogc: int = 100,
    ) -> None:
        """With `controllers=False` only etcd and the API server run: quickest, and nothing else writes.

        `gogc` is how many percent Go's programs may grow by before they look for what they need no more.
        """
        self._controllers = controllers
        self._environment = {"GOGC": str(gogc)}
        self._nodes = nodes if controllers else 0
        builder = builder or Builder()
        self._programs = {
            name: builder.program(name) for name in (*SMALLEST, *(CONTROL_PLANE if controllers else ()))
        }
        super().__init__("cp")
        self._authority = Authority(self.folder / "certs")
        self._etcd_port, self._peer_port, self.port = (self._reserve_port() for _ in range(3))
        self._requests = Requests(self.port, self.ca_file, limit=CALL_LIMIT)
        self.users = (ADMIN, READER, NOBODY, *users)
        self._tokens = {user.name: secrets.token_hex(16) for user in self.users}
        self._write_tokens()
        self.kubeconfig = self.kubeconfig_for("admin")
        self.etcd = self._process("etcd", self._etcd_flags())
        self.apiserver = self._process(
            "kube-apiserver", [*self._apiserver_flags(watch_cache=watch_cache), *apiserver_flags]
        )
        self.controller_manager = self._process("kube-controller-manager", self._controller_manager_flags())
        self.scheduler = self._process("kube-scheduler", self._scheduler_flags())
        self.kwok = self._process("kwok", self._kwok_flags())

    # -- life ---------------------------------------------------------------------------------------------

    def _bring_up(self) -> None:
        self.etcd.start()
        self.wait_for_etcd()
        self.apiserver.start()
        self.wait_until_ready()
        self.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", READERS_MAY_VIEW)
        if self._controllers:
            self.controller_manager.start()
            self.scheduler.start()
            self.kwok.start()
            self.add_nodes(self._nodes)
            # What the role `view` holds is gathered by a controller, after the role is there.
            self.wait_for_right("reader", "list", "configmaps")

    def _release(self) -> None:
        self._requests.close()
        super()._release()

    @property
    def processes(self) -> tuple[Process, ...]:
        """All processes that this control plane is made of."""
        few = (self.etcd, self.apiserver)
        return (*few, self.controller_manager, self.scheduler, self.kwok) if self._controllers else few

    def wait_for_etcd(self, limit: float = START_LIMIT) -> None:
        """Return when etcd answers."""
        self.etcd.wait_until(self._etcd_answers, what="answering its health question", limit=limit)

    def wait_until_ready(self, limit: float = START_LIMIT) -> None:
        """Return when the API server says that it is ready."""
        self.apiserver.wait_until(self._apiserver_ready, what="becoming ready", limit=limit)

    def restart_apiserver(self) -> None:
        """Kill the API server and start it again on the same port, returning when it is ready."""
        self.apiserver.kill()
        self.apiserver.start()
        self.wait_until_ready()

    def _etcd_answers(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            return bool(self._etcd_call("/v3/maintenance/status", {}))
        return False

    def _apiserver_ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self._request("GET", "/readyz", None, "admin")[0] == http.HTTPStatus.OK
        return False

    # -- reaching it --------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_file(self) -> Path:
        """The certificate authority that signed the API server's certificate."""
        return self._authority.certificate

    def token(self, user: str = "admin") -> str:
        """The bearer token of one of the users."""
        return self._tokens[user]

    def client_certificate(self, user: str, groups: Sequence[str] = (), *, expired: bool = False) -> KeyPair:
        """A client certificate that the API server accepts (or finds expired)."""
        return self._authority.client(user, groups, expired=expired)

    def kubeconfig_for(self, user: str, *, server: str | None = None) -> Path:
        """A kubeconfig file for one of the users, by token; `server` may point to a proxy instead."""
        address = (server or self.url).rpartition("/")[2].replace(":", "-")
        path = self.folder / f"{user}-{address}.kubeconfig"
        if path.exists():
            return path
        cluster = {"server": server or self.url, "certificate-authority": str(self.ca_file)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "testbed",
            "clusters": [{"name": "testbed", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self._tokens[user]}}],
            "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": user}}],
        }
        _write_private(path, json.dumps(config, indent=1))
        return path

    def kubectl(self, *args: str, user: str = "admin", stdin: str | None = None) -> str:
        """Run kubectl as one of the users and return what it printed; its failure is a `PartFailed`."""
        done = subprocess.run(
            [self._programs["kubectl"], f"--kubeconfig={self.kubeconfig_for(user)}", *args],
            input=stdin,
            env={"HOME": str(self.folder), "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode:
            raise PartFailed(f"kubectl {' '.join(args)}", done.stderr.strip())
        return done.stdout

    def answer(self, verb: str, path: str, body: Any = None, *, user: str = "admin") -> tuple[int, Any]:
        """One JSON request to the API server: the status and what it said, whether it liked it or not."""
        status, answer = self._request(verb, path, body, user)
        return status, json.loads(answer)

    def call(self, verb: str, path: str, body: Any = None, *, user: str = "admin") -> Any:
        """One JSON request to the API server; any answer but a success is a `PartFailed`."""
        status, answer = self._request(verb, path, body, user)
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise PartFailed(f"{verb} {path}", f"{status} {answer.decode(errors='replace')[:500]}")
        return json.loads(answer)

    def _request(self, verb: str, path: str, body: Any, user: str) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self._tokens[user]}", "Content-Type": "application/json"}
        return self._requests.send(verb, path, None if body is None else json.dumps(body), headers)

    # -- rights -------------------------------------------------------------------------------------------

    def may(self, who: str, verb: str, resource: str, namespace: str = "") -> bool:
        """Whether somebody has a right, as the API server knows now; `resource` as in `deployments.apps`."""
        plural, _, group = resource.partition(".")
        groups = next((list(user.groups) for user in self.users if user.name == who), [])
        asked = {"verb": verb, "resource": plural, "group": group, "namespace": namespace}
        review = {"spec": {"user": who, "groups": groups, "resourceAttributes": asked}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool(self.call("POST", path, review)["status"]["allowed"])

    def wait_for_right(
        self, who: str, verb: str, resource: str, namespace: str = "", *, granted: bool = True
    ) -> None:
        """Return when a right counts, or no longer does: a moment after the role or binding has changed."""
        self.apiserver.wait_until(
            lambda: self.may(who, verb, resource, namespace) is granted,
            what=f"{'granting' if granted else 'denying'} {who} to {verb} {resource}",
            limit=START_LIMIT,
        )

    # -- disturbing it ------------------------------------------------------------------------------------

    def compact(self) -> int:
        """Compact etcd so that every state read before is gone; returns the oldest revision that remains.

        With the watch cache on, the API server may still answer from its memory what etcd has forgotten.
        """
        # A watch from the newest revision asks for the one after it: two writes leave that behind, too.
        self._etcd_call("/v3/kv/put", {"key": COMPACTION_KEY, "value": ""})
        answer = self._etcd_call("/v3/kv/put", {"key": COMPACTION_KEY, "value": ""})
        revision = int(answer["header"]["revision"])
        self._etcd_call("/v3/kv/compaction", {"revision": revision, "physical": True})
        return revision

    def _etcd_call(self, path: str, body: Any) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._etcd_port, timeout=CALL_LIMIT)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != http.HTTPStatus.OK:
                raise PartFailed(f"etcd {path}", text.decode(errors="replace"))
            return json.loads(text)

    # -- namespaces and nodes -----------------------------------------------------------------------------

    def add_namespace(self, name: str) -> None:
        """Create a namespace; where controllers run, return when pods may be created in it."""
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        if self._controllers:
            account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
            self.controller_manager.wait_until(
                lambda: self._request("GET", account, None, "admin")[0] == http.HTTPStatus.OK,
                what=f"making the default service account of {name}",
                limit=START_LIMIT,
            )

    def add_nodes(self, count: int) -> None:
        """Create this many more nodes, played by KWOK, and return when they are ready."""
        first = len(self.call("GET", "/api/v1/nodes")["items"])
        for number in range(first, first + count):
            self.call("POST", "/api/v1/nodes", _node(f"node-{number}"))
        everything = first + count
        self.kwok.wait_until(
            lambda: self._ready_nodes() >= everything,
            what=f"making {everything} nodes ready",
            limit=START_LIMIT,
        )

    def _ready_nodes(self) -> int:
        nodes = self.call("GET", "/api/v1/nodes")["items"]
        return sum(_is_ready(node) for node in nodes)

    # -- command lines ------------------------------------------------------------------------------------

    def _process(self, name: str, flags: Sequence[str]) -> Process:
        argv = [str(self._programs.get(name, name)), *flags]
        return Process(name, argv, folder=self.folder, env=self._environment)

    def _write_tokens(self) -> None:
        lines = (
            f'{self._tokens[user.name]},{user.name},{user.name},"{",".join(user.groups)}"\n'
            for user in self.users
        )
        _write_private(self.folder / "tokens.csv", "".join(lines))

    def _etcd_flags(self) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in (self._etcd_port, self._peer_port))
        return [
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",  # the data need not outlive the machine
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--quota-backend-bytes=8589934592",
            "--log-level=warn",
        ]

    def _apiserver_flags(self, *, watch_cache: bool) -> list[str]:
        server, tokens = self._authority.server("kube-apiserver"), signing_keys(self.folder / "certs")
        return [
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--etcd-compaction-interval=0",  # tests compact when they want to
            f"--watch-cache={str(watch_cache).lower()}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={server.certificate}",
            f"--tls-private-key-file={server.key}",
            f"--client-ca-file={self.ca_file}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={tokens.key}",
            f"--service-account-key-file={tokens.certificate}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--allow-privileged=true",  # as every installer of clusters sets it
            "--endpoint-reconciler-type=none",
        ]

    def _controller_manager_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self.folder / 'certs' / 'sa.key'}",
            f"--root-ca-file={self.ca_file}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--secure-port=0",
        ]

    def _scheduler_flags(self) -> list[str]:
        return [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"]

    def _kwok_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self.kubeconfig}",
            f"--config={self._stages()}",
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
            "--node-port=0",
        ]

    def _stages(self) -> Path:
        """How KWOK lets nodes and pods live: without being told, it refuses to start."""
        path = self.folder / "kwok-stages.yaml"
        if self._controllers:
            extras = self._programs["kwok"].parent.parent / "extras"
            path.write_text(stages(extras))
        return path


def stages(extras: Path) -> str:
    """KWOK's own stages, from its module, and ours beside them; no pod is the business of two at once."""
    own = [yaml.safe_load(file.read_text()) for file in sorted(extras.glob("*.yaml"))]
    for stage in own:
        for key, words in UNLESS_ASKED.get(stage["metadata"]["name"], {}).items():
            unless = {"key": key, "operator": "NotIn", "values": words}
            stage["spec"]["selector"]["matchExpressions"].append(unless)
    ours = [yaml.safe_load(file.read_text()) for file in sorted(STAGES.glob("*.yaml"))]
    return yaml.safe_dump_all([*own, *ours])


def _write_private(path: Path, text: str) -> None:
    """Write a file that holds a secret; only its owner may read it."""
    path.touch(mode=0o600)
    path.write_text(text)


def _node(name: str) -> dict[str, Any]:
    """A large node that KWOK will make ready."""
    room = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"type": "kwok", "kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room},
    }


def _is_ready(node: Any) -> bool:
    conditions = node["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
