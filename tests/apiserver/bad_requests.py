"""Requests that a server must refuse, and how to send them: data, and one short client.

What a real server answered is recorded beside this (`python -m scripts.record_bad_requests`).
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

RECORD = Path(__file__).parent / "recorded" / "bad_requests.json"
NAMESPACE = "bad-input"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
MAPS = f"{CORE}/configmaps"
COLOURS = f"{MAPS}/colours"
WEB = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/web"
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
LARGEST = 3 * 1024 * 1024


class Request(Struct, frozen=True, kw_only=True):
    """One request as it goes over the wire."""

    method: str = "GET"
    path: str
    body: bytes = b""
    media: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Reply(Struct, frozen=True, kw_only=True):
    """What came back: the code, what it is, and what it says."""

    code: int
    media: str
    said: Any


def get(path: str, **headers: str) -> Request:
    return Request(path=path, headers=tuple(headers.items()))


def post(body: bytes, media: str = JSON, path: str = MAPS) -> Request:
    return Request(method="POST", path=path, body=body, media=media)


def put(body: bytes, path: str = COLOURS) -> Request:
    return Request(method="PUT", path=path, body=body, media=JSON)


def patch(body: bytes, media: str, path: str = COLOURS) -> Request:
    return Request(method="PATCH", path=path, body=body, media=media)


def delete(body: bytes = b"", path: str = COLOURS) -> Request:
    return Request(method="DELETE", path=path, body=body, media=JSON if body else "")


def config_map(**parts: Any) -> bytes:
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, **parts}
    return json.dumps(whole).encode()


def _web(spec: Any) -> bytes:
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return json.dumps({**head, "spec": spec}).encode()


def _container(**fields: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "a", **fields}]}}}


def token(content: str) -> str:
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


BODIES = {
    "an empty body": post(b""),
    "a body that is cut off": post(b'{"metadata":'),
    "a body with a stray letter": post(b'{"a": x}'),
    "a list as a body": post(b"[1]"),
    "a text as a body": post(b'"text"'),
    "null as a body": post(b"null"),
    "two bodies": post(b"{} {}"),
    "bytes that are no text": post(b"\xff\xfe\x00"),
    "another kind": post(config_map(kind="Secret")),
    "another version": post(config_map(apiVersion="v2")),
    "no name": post(config_map(metadata={})),
    "a name that is none": post(config_map(metadata={"name": "Not A Name"})),
    "another namespace": post(config_map(metadata={"name": "a", "namespace": "default"})),
    "a name that is taken": post(config_map(metadata={"name": "colours"})),
    "a number for a map": post(config_map(data=3)),
    "a list for a map": post(config_map(metadata={"name": "a", "labels": ["x"]})),
    "a number for a text": post(config_map(data={"a": 1})),
    "a body that is too large": post(config_map(data={"a": "x" * LARGEST})),
    "a body that is too deep": post(b'{"metadata":' + b"[" * 20_000),
    "a media type that is not spoken": post(config_map(), "text/plain"),
    "a media type that is none": post(config_map(), ";;"),
    "protocol buffers that are none": post(b"hello", PROTOBUF),
    "protocol buffers that end early": post(b"k8s\x00\x0a\xff", PROTOBUF),
    "YAML that is none": post(b"a: [", YAML),
}
PATHS = {
    "a group that does not exist": get("/apis/nowhere.example.com/v1/things"),
    "a version that does not exist": get("/apis/apps/v9/deployments"),
    "a core version that does not exist": get("/api/v2/pods"),
    "a kind that does not exist": get("/api/v1/things"),
    "a namespaced kind that does not exist": get(f"{CORE}/things/a"),
    "a path that leads nowhere": get("/nowhere"),
    "an object without its namespace": get("/api/v1/configmaps/colours"),
    "an object that does not exist": get(f"{MAPS}/nothing"),
    "a part that no object has": get(f"{COLOURS}/nothing"),
    "a status where there is none": put(config_map(metadata={"name": "colours"}), f"{COLOURS}/status"),
    "a slash in a name": get(f"{MAPS}/a%2Fb"),
    "a list where an object belongs": Request(method="PUT", path=MAPS, body=config_map(), media=JSON),
    "an object where a list belongs": post(config_map(), path=COLOURS),
    "a patch of a list": patch(b"{}", MERGE, MAPS),
    "a method of another protocol": Request(method="PROPFIND", path=MAPS),
    "a trace": Request(method="TRACE", path=COLOURS),
    "nobody": Request(path=MAPS, headers=(("Authorization", ""),)),
    "a stranger": Request(path=MAPS, headers=(("Authorization", "Bearer stranger"),)),
    "an answer that is not written": get(MAPS, Accept="text/html"),
    "an answer that is not written, of one object": get(COLOURS, Accept="application/*"),
    "an answer in a strange spelling": get(MAPS, Accept="APPLICATION/JSON"),
    "a form of a version that is to come": get(
        MAPS, Accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v9"
    ),
    "a change of what is served": Request(method="PUT", path="/apis/apps/v1"),
    "a change of the core group": Request(method="DELETE", path="/api"),
    "a change of the version": Request(method="POST", path="/version"),
    "a form that is not known": get(MAPS, Accept="application/json;as=Poem;g=meta.k8s.io;v=v1"),
}
OPTIONS = {
    "a label selector that is cut off": get(f"{MAPS}?labelSelector=a+in+("),
    "a label selector with a strange operator": get(f"{MAPS}?labelSelector=a~b"),
    "a label selector with a strange value": get(f"{MAPS}?labelSelector=a%3D-"),
    "a field that cannot be selected": get(f"{MAPS}?fieldSelector=spec.colour%3Dblue"),
    "a field selector that is none": get(f"{MAPS}?fieldSelector=colour"),
    "a limit that is no number": get(f"{MAPS}?limit=many"),
    "a limit that no number holds": get(f"{MAPS}?limit=9223372036854775808"),
    "a list of a strange length": get(f"{MAPS}?timeoutSeconds=long"),
    "initial events of a list": get(f"{MAPS}?sendInitialEvents=true"),
    "a continue token that is none": get(f"{MAPS}?limit=1&continue=nonsense"),
    "a continue token without a version": get(f"{MAPS}?limit=1&continue={token('{}')}"),
    "a continue token of another kind": get(
        f"{MAPS}?limit=1&continue={token(json.dumps({'v': 'meta.k8s.io/v9', 'rv': 1, 'start': 'a'}))}"
    ),
    "a continue token that is none, and a version": get(f"{MAPS}?continue=nonsense&resourceVersion=5"),
    "a version that is no number": get(f"{MAPS}?resourceVersion=new"),
    "a version that no number holds": get(f"{MAPS}?resourceVersion=18446744073709551616"),
    "an object in a version that no number holds": get(f"{COLOURS}?resourceVersion=18446744073709551616"),
    "a strange match": get(f"{MAPS}?resourceVersion=1&resourceVersionMatch=Roughly"),
    "a strange match of no version": get(f"{MAPS}?resourceVersionMatch=Roughly"),
    "a match and a continue token": get(
        f"{MAPS}?continue=nonsense&resourceVersion=0&resourceVersionMatch=Exact"
    ),
    "a strange match, a continue token and initial events": get(
        f"{MAPS}?continue=nonsense&resourceVersionMatch=Roughly&sendInitialEvents=true"
    ),
    "a match of no version": get(f"{MAPS}?resourceVersionMatch=Exact"),
    "a watch from a version that is no number": get(f"{MAPS}?watch=1&resourceVersion=new"),
    "a watch of a strange length": get(f"{MAPS}?watch=1&timeoutSeconds=long"),
    "a watch with a strange match": get(f"{MAPS}?watch=1&resourceVersionMatch=Exact"),
    "a watch that goes on with a list": get(f"{MAPS}?watch=1&continue=nonsense"),
    "initial events without a match": get(f"{MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"),
    "a strange dry run": post(config_map(), path=f"{MAPS}?dryRun=Some"),
    "a strange strictness": post(config_map(), path=f"{MAPS}?fieldValidation=Some"),
    "an unknown field, strictly": post(config_map(colour="blue"), path=f"{MAPS}?fieldValidation=Strict"),
    "a manager with a long name": post(config_map(), path=f"{MAPS}?fieldManager={'m' * 129}"),
}
CHANGES = {
    "an update of a stale version": put(
        config_map(metadata={"name": "colours", "resourceVersion": "1"}, data={"sky": "grey"})
    ),
    "an update under another name": put(config_map()),
    "an update of nothing": put(config_map(metadata={"name": "nothing"}), f"{MAPS}/nothing"),
    "an update that is too large": put(config_map(data={"a": "x" * LARGEST})),
    **{
        f"{what} that is too large": patch(b'{"data":{"a":"%s"}}' % (b"x" * LARGEST), media, path)
        for what, media, path in (
            ("a merge patch", MERGE, COLOURS),
            ("a strategic merge patch", STRATEGIC, COLOURS),
            ("a JSON patch", JSON_PATCH, COLOURS),
            ("an apply", APPLY, f"{COLOURS}?fieldManager=m"),
        )
    },
    "a deletion with a body that is too large": delete(b'{"a":"%s"}' % (b"x" * LARGEST)),
    "a patch of an unknown type": patch(b"{}", JSON),
    "a JSON patch that is no list": patch(b"{}", JSON_PATCH),
    "a JSON patch with a strange operation": patch(b'[{"op":"paint","path":"/data"}]', JSON_PATCH),
    "a JSON patch of what is not there": patch(b'[{"op":"remove","path":"/data/nothing"}]', JSON_PATCH),
    "a JSON patch whose test fails": patch(b'[{"op":"test","path":"/data/sky","value":"red"}]', JSON_PATCH),
    "a merge patch that is a list": patch(b"[1]", MERGE),
    "a merge patch that is cut off": patch(b'{"data":', MERGE),
    "a merge patch that makes nonsense": patch(b'{"data":{"sky":1}}', MERGE),
    "a patch of nothing": patch(b"{}", MERGE, f"{MAPS}/nothing"),
    "a patch by force that is no apply": patch(b"{}", MERGE, f"{COLOURS}?force=true"),
    "a strategic patch with a strange directive": patch(
        b'{"spec":{"template":{"spec":{"containers":[{"name":"web","$patch":"paint"}]}}}}', STRATEGIC, WEB
    ),
    "a strategic patch without a key": patch(
        b'{"spec":{"template":{"spec":{"containers":[{"image":"new"}]}}}}', STRATEGIC, WEB
    ),
    "an apply without a manager": patch(config_map(metadata={"name": "colours"}), APPLY),
    "an apply that is no YAML": patch(b"a: [", APPLY, f"{COLOURS}?fieldManager=m"),
    "an apply of a list": patch(b"[1]", APPLY, f"{COLOURS}?fieldManager=m"),
    "an apply under another name": patch(config_map(), APPLY, f"{COLOURS}?fieldManager=m"),
    "an apply without a kind": patch(b'{"data":{}}', APPLY, f"{COLOURS}?fieldManager=m"),
    "an apply of a field of another kind": patch(
        config_map(metadata={"name": "colours"}, colour="blue"), APPLY, f"{COLOURS}?fieldManager=m"
    ),
    **{
        f"an apply of {what}": patch(_web(spec), APPLY, f"{WEB}?fieldManager=m&force=true")
        for what, spec in {
            "a fraction for an integer": {"replicas": 1.5},
            "a fraction within a list": _container(ports=[{"containerPort": 1.5}]),
            "a fraction for a percentage": {"strategy": {"rollingUpdate": {"maxSurge": 1.5}}},
            "a flag that is text": {"paused": "yes"},
            "a quantity that is none": _container(resources={"limits": {"cpu": "much"}}),
            "a list for a map": {"selector": []},
            "a time that is none": {"template": {"metadata": {"creationTimestamp": "now"}}},
        }.items()
    },
    "an apply of text that is no base64": patch(
        b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"new"},"data":{"a":"?"}}',
        APPLY,
        f"{CORE}/secrets/new?fieldManager=m",
    ),
    "an apply of a scale that is a fraction": patch(
        b'{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web"},"spec":{"replicas":1.5}}',
        APPLY,
        f"{WEB}/scale?fieldManager=m&force=true",
    ),
    "a JSON patch with a number that nothing can hold": patch(
        b'[{"op":"add","path":"/data/a","value":1e400}]', JSON_PATCH
    ),
    "a change of what is fixed": patch(b'{"spec":{"selector":{"matchLabels":{"app":"other"}}}}', MERGE, WEB),
    "a scale that is no number": patch(b'{"spec":{"replicas":"many"}}', MERGE, f"{WEB}/scale"),
    "a scale below zero": patch(b'{"spec":{"replicas":-1}}', MERGE, f"{WEB}/scale"),
    "a deletion of nothing": delete(path=f"{MAPS}/nothing"),
    "a deletion with a strange policy": delete(b'{"propagationPolicy":"Slowly"}'),
    "a deletion with a body that is none": delete(b"{"),
    "a deletion with a list for a body": delete(b"[1]"),
    "a deletion with a body that is not spoken": Request(
        method="DELETE", path=COLOURS, body=b"{}", media="text/json"
    ),
    "a deletion with protocol buffers that are none": Request(
        method="DELETE", path=COLOURS, body=b"hello", media=PROTOBUF
    ),
    "a deletion after a strange time": delete(path=f"{COLOURS}?gracePeriodSeconds=long"),
    "a deletion of another one": delete(b'{"preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}'),
    "a deletion with options of another kind": delete(b'{"kind":"Pod","apiVersion":"v1"}'),
    "a deletion of a strange selection": delete(path=f"{MAPS}?labelSelector=a+in+("),
}
#: What no two servers have in common: ids, and how they write a whole object into a message.
MASKS = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r'Invalid value: \\"\{.*?\}\\": json', "Invalid value: OBJECT: json"),
)
REQUESTS = {**BODIES, **PATHS, **OPTIONS, **CHANGES}

PREPARED = (
    ("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}),
    (MAPS, {"metadata": {"name": "colours"}, "data": {"sky": "blue"}}),
    (
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
        {
            "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
                },
            },
        },
    ),
)


class Client:
    """Sends requests to a server exactly as they are, each on a connection of its own."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.port = int(cluster["server"].rpartition(":")[2])
        authority = cluster.get("certificate-authority-data")
        self._data = base64.b64decode(authority).decode() if authority else None
        self._file = cluster.get("certificate-authority")
        self.trust = self.tls()
        self.token: str = user["token"]

    def tls(self, protocols: Sequence[str] = ()) -> ssl.SSLContext:
        """How to speak to the server under TLS; `protocols` are offered for what follows."""
        context = ssl.create_default_context(cafile=self._file, cadata=self._data)
        if protocols:
            context.set_alpn_protocols([*protocols])
        return context

    def prepare(self) -> None:
        """Make the objects that the requests are about."""
        for path, body in PREPARED:
            reply = self.send(post(json.dumps(body).encode(), path=path))
            assert reply.code in (201, 409), reply

    def send(self, request: Request) -> Reply:
        """One request, and its answer."""
        with self.answered(request) as answer:
            said = answer.read()
        media = answer.headers.get_content_type()
        return Reply(code=answer.status, media=media, said=_read(said, media))

    @contextmanager
    def answered(self, request: Request) -> Iterator[http.client.HTTPResponse]:
        """The beginning of an answer, for those who read on themselves."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self.trust)
        headers = {
            "Authorization": f"Bearer {self.token}",
            "User-Agent": "tests/1.0",
            **dict(request.headers),
        }
        if request.media:
            headers["Content-Type"] = request.media
        with closing(connection):
            connection.request(request.method, request.path, request.body or None, headers)
            yield connection.getresponse()


def _read(said: bytes, media: str) -> Any:
    return json.loads(said) if media == JSON else said.decode(errors="replace")


def comparable(reply: Reply) -> dict[str, Any]:
    """What of an answer must be the same everywhere."""
    text = json.dumps({"code": reply.code, "media": reply.media, "said": reply.said})
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    found: dict[str, Any] = json.loads(text)
    return found


def recorded() -> Mapping[str, Any]:
    """The answers of a real server, by the name of the request."""
    found: dict[str, Any] = json.loads(RECORD.read_text())
    return found
