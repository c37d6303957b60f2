"""HTTP as it goes over the wire, and what servers make of it: data, and one short reader of answers.

What a real server answered is recorded beside this (`python -m scripts.record_wire`), and so is what the
embedded one answers where it knowingly differs: the documentation's table is made from `DIFFERING`.
"""

from __future__ import annotations

import base64
import json
import re
import socket
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from tests.apiserver.bad_requests import (
    APPLY,
    COLOURS,
    CORE,
    JSON,
    JSON_PATCH,
    MAPS,
    MERGE,
    STRATEGIC,
    WEB,
    Client,
    config_map,
)

FOLDER = Path(__file__).parent / "recorded"
REAL, EMBEDDED = FOLDER / "wire.json", FOLDER / "wire_embedded.json"
TOKEN = "<token>"  # what stands for it until it is sent
TOLD = ("cache-control", "connection", "content-encoding", "retry-after", "vary", "warning")
DRY = f"{MAPS}?dryRun=All"
JOBS = f"/apis/batch/v1/namespaces/{CORE[19:]}/jobs"
BODY = config_map().decode()


class Exchange(Struct, frozen=True, kw_only=True):
    """What is sent as it stands, and how many answers it gets."""

    sent: str
    answers: int = 1
    then: str = ""  # sent once the first answer is there
    briefly: bool = (
        False  # what a server says in no time at all is left to chance: only its head is looked at
    )
    plain: bool = False  # without TLS
    ends: bool = False  # the client says no more, and only listens
    protocols: tuple[str, ...] = ()  # offered while TLS is agreed upon; the answer is the chosen one


def request(method: str, path: str, *headers: str, body: str = "", version: str = "HTTP/1.1") -> str:
    given = {line.partition(":")[0].lower() for line in headers}
    lines = [f"{method} {path} {version}", *headers]
    if "host" not in given:
        lines.append("Host: localhost")
    if "authorization" not in given:
        lines.append(f"Authorization: Bearer {TOKEN}")
    if body and not given & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", body])


def get(path: str, *headers: str, version: str = "HTTP/1.1") -> Exchange:
    briefly = "timeoutSeconds=-1" in path
    return Exchange(sent=request("GET", path, *headers, version=version), briefly=briefly)


def send(method: str, path: str, body: str = "", *headers: str, media: str = JSON) -> Exchange:
    return Exchange(sent=request(method, path, f"Content-Type: {media}", *headers, body=body))


def delete(path: str) -> Exchange:
    return Exchange(sent=request("DELETE", path))


WATCH = f"{MAPS}?watch=1&timeoutSeconds=-1"  # ends at once
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
CHUNKS = f"{len(BODY[:9]):x}\r\n{BODY[:9]}\r\n{len(BODY[9:]):x};a=b\r\n{BODY[9:]}\r\n0\r\n\r\n"

OUTDATED = {
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [{"name": "web", "image": "web:1"}],
                "nodeSelector": {"beta.kubernetes.io/os": "linux"},
            },
        },
    },
}

OPTIONS = {
    "a deletion on the condition of a version": delete(f"{COLOURS}?dryRun=All&resourceVersion=1"),
    "a deletion on the condition of an id": delete(f"{COLOURS}?dryRun=All&uid=another"),
    "a deletion of many from a version": delete(f"{MAPS}?dryRun=All&resourceVersion=1"),
    "a deletion of many from any version": delete(f"{MAPS}?dryRun=All&resourceVersion=0"),
    "a deletion of many in a version that is no number": delete(f"{MAPS}?resourceVersion=new"),
    "a deletion of a job that is not there": delete(f"{JOBS}/nothing"),
    "a deletion of many jobs": delete(JOBS),
    "a deletion of many jobs and their pods": delete(f"{JOBS}?propagationPolicy=Background"),
    "an option given twice": send("POST", f"{MAPS}?dryRun=All&dryRun=Some", BODY),
    "a limit given twice": get(f"{MAPS}?limit=many&limit=1"),
    "options that cannot be read": get(f"{MAPS}/nothing?a=%zz&limit=1;limit=2"),
    "a very long query": get(f"{MAPS}/nothing?a={'b' * 300_000}"),
    "a query longer than any": get(f"{MAPS}/nothing?a={'b' * 1_200_000}"),
    "a name that is taken, of an object with a warning": send(
        "POST", WEB.removesuffix("/web"), json.dumps(OUTDATED)
    ),
    "a number that nothing holds": send("PATCH", WEB, '{"spec":{"replicas":1e400}}', media=MERGE),
}
MEDIA = {
    f"a body in {media}": send("POST", DRY, "{", media=media)
    for media in (
        "application/json; charset",
        "application/json; charset=a; charset=b",
        "application/json; charset=a; charset=a",
        "application/json;",
        "application/json;;",
        'application/json; a="b',
        "Application/JSON ; a=b",
    )
} | {
    f"a patch in {media}": send("PATCH", COLOURS, "[]", media=media)
    for media in (
        f"{MERGE}; charset",
        f"{MERGE}, text/plain",
        f"{MERGE} ; a=b",
        "application/Merge-patch+json",
    )
}
WATCHES = {
    "a watch of no time": get(WATCH),
    "a watch in YAML": get(WATCH, "Accept: application/yaml"),
    "a watch rather in YAML": get(WATCH, "Accept: application/json;q=0.1, application/yaml"),
    "a watch in lines": get(WATCH, "Accept: application/json;stream=watch"),
    "a watch in HTML": get(WATCH, "Accept: text/html"),
    "a watch of metadata": get(WATCH, f"Accept: {PARTIAL}"),
    "a watch without a value": get(f"{MAPS}?watch&timeoutSeconds=-1"),
    "a watch in HTTP/1.0": get(WATCH, version="HTTP/1.0"),
    "a watch of one object": get(f"{MAPS}/nothing?watch=true"),
    "a watch of one part": get(f"/apis/apps/v1/watch/namespaces/{CORE[19:]}/deployments/web/status"),
    "a watch that writes": send("POST", f"/api/v1/watch/namespaces/{CORE[19:]}/configmaps", BODY),
    "a watch that deletes": delete(f"/api/v1/watch/namespaces/{CORE[19:]}/configmaps/colours"),
}
FORMS = {
    "a refusal in YAML": get(f"{MAPS}/nothing", "Accept: application/yaml"),
    "a bad body, told in YAML": send("POST", MAPS, "{", "Accept: application/yaml"),
    "a group in YAML": get("/apis/apps", "Accept: application/yaml"),
    "a refusal for reading": get(f"{MAPS}/nothing?pretty=true"),
    "a refusal for curl": get(f"{MAPS}/nothing", "User-Agent: curl/8.5.0"),
    "a refusal for curl, as it is": get(f"{MAPS}/nothing?pretty=0", "User-Agent: curl/8.5.0"),
    "a group for reading": get("/apis/apps?pretty=1"),
}
PATHS = {
    "an absolute address": get(f"https://localhost{MAPS}/nothing"),
    "an absolute address without a path": get("https://localhost"),
    "an encoded letter": get(f"{MAPS}/n%6fthing"),
    "a bad escape": get(f"{MAPS}/%zz"),
    "a doubled slash at the start": get(f"/{COLOURS}"),
    "a doubled slash": get(f"{CORE}//configmaps"),
    "a doubled slash before a group": get("/apis//apps"),
    "a doubled slash after a group": get("/apis/apps//v1"),
    "a slash at the end": get(f"{MAPS}/nothing/"),
    "a slash after health": get("/healthz/"),
    "a check of health": get("/livez/ping"),
    "a check that is not made": get("/readyz/nothing"),
    "a slash after a schema": get("/openapi/v2/"),
    "two dots": get("/api/v1/../v1/namespaces/nowhere"),
}
PEOPLE = {
    "a token spelled in small letters": get(f"{MAPS}/nothing", f"Authorization: bearer {TOKEN}"),
    "a token after more space": get(MAPS, f"Authorization: Bearer  {TOKEN}"),
    "a password": get(MAPS, "Authorization: Basic eDp5"),
}
HTTP = {
    "the head of an object": Exchange(sent=request("HEAD", f"{COLOURS}")),
    "the head of health": Exchange(sent=request("HEAD", "/healthz")),
    "the options of an object": Exchange(sent=request("OPTIONS", COLOURS)),
    "a body that waits to be asked for": Exchange(
        sent=request("POST", MAPS, f"Content-Type: {JSON}", "Expect: 100-continue", "Content-Length: 1"),
        then="{",
        answers=2,
    ),
    "an expectation that is not known": send("POST", MAPS, "{", "Expect: miracles"),
    "three requests at once": Exchange(
        sent=request("GET", f"{MAPS}/nothing")
        + request("POST", MAPS, f"Content-Type: {JSON}", body="{")
        + request("GET", "/healthz", "Connection: close"),
        answers=3,
    ),
    "a body in pieces": send("POST", f"{DRY}&fieldValidation=Some", CHUNKS, "Transfer-Encoding: chunked"),
    "a length that is none": send("POST", DRY, BODY, "Content-Length: many"),
    "two lengths": send("POST", DRY, BODY, "Content-Length: 5", "Content-Length: 6"),
    "a body of a question": Exchange(sent=request("GET", f"{MAPS}/nothing", body="{}")),
    "HTTP/1.0": get(f"{MAPS}/nothing", version="HTTP/1.0"),
    "HTTP/1.0 that goes on": get(f"{MAPS}/nothing", "Connection: keep-alive", version="HTTP/1.0"),
    "a last request": get(f"{MAPS}/nothing", "Connection: close"),
    "a very long header": get(f"{MAPS}/nothing", f"X-Long: {'b' * 300_000}"),
    "a header longer than any": get(f"{MAPS}/nothing", f"X-Long: {'b' * 1_200_000}"),
    "a change of the protocol": get(f"{MAPS}/nothing", "Connection: Upgrade", "Upgrade: h2c"),
}
SHAPES = (
    {
        f"{what}, {name}": make(f"Accept: application/json;as={form};g=meta.k8s.io;v={version}")
        for name, form, version in (
            ("as metadata", "PartialObjectMetadata", "v1"),
            ("as a list of metadata", "PartialObjectMetadataList", "v1"),
            ("as metadata of old", "PartialObjectMetadata", "v1beta1"),
            ("as a list of metadata of old", "PartialObjectMetadataList", "v1beta1"),
            ("as a table that is to come", "Table", "v9"),
        )
        for what, make in {
            "an object": partial(get, COLOURS),
            "a list": partial(get, f"{MAPS}?fieldSelector=metadata.name%3Dcolours"),
            "what is not there": partial(get, f"{MAPS}/nothing"),
            "what is watched": partial(get, f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=0"),
            "what is created": partial(send, "POST", DRY, BODY),
            "many deletions": partial(send, "DELETE", f"{DRY}&fieldSelector=metadata.name%3Dcolours", ""),
            "a scale": partial(get, f"{WEB}/scale"),
        }.items()
    }
    | {
        f"a list accepted as {accept}": get(f"{MAPS}?labelSelector=nothing", f"Accept: {accept}")
        for accept in (
            "application/json;v=v1",
            "application/json;as=",
            "application/json;pretty=1",
            "application/yaml;pretty=1",
            "application/json;stream=words",
            "application/*, application/json;as=Poem",
        )
    }
    | {
        f"{path} accepted as {accept}": get(path, f"Accept: {accept}")
        for path in ("/api/v1", "/apis/apps", "/version", "/openapi/v2", "/api/v1/things")
        for accept in ("text/html", "application/yaml;pretty=1", "text/plain, application/*;q=0.1")
        if "*" not in accept or path in ("/api/v1", "/version")
    }
)
HEALTH = {
    f"{path}{query}": get(f"{path}{query}")
    for path in ("/healthz", "/livez", "/readyz")
    for query in (
        "?verbose",
        "?verbose=false&exclude=b&exclude=etcd&exclude=a",
        "?exclude=etcd",
        "/shutdown",
        "/poststarthook/rbac/bootstrap-roles",
        "/poststarthook",
    )
}
MANY = "9" * 4301  # one digit more than Python reads
NUMBERS = {
    "many digits": MANY,
    "less than nothing, in many digits": f"-{MANY}",
    "a small number": f"{'0' * 4301}1",
    "a digit that is none": "%C2%B2",
    "a digit of another script": "%D9%A1",
}
PLACE = base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":99999999999999999999,"start":"a"}').decode()
ODDITIES = {
    **{
        f"a time to answer of {time!r}": get(f"{MAPS}/nothing?timeout={time}")
        for time in ("1.5h", "-1s", "%2B.5s", "1h1m", "0", "", "1", "abc", "1%20s", "1s1", "1d", ".", "-")
    },
    "a time to tell health in": get("/healthz?timeout=abc"),
    "a time for nobody to be answered in": get(f"{MAPS}?timeout=abc", "Authorization:"),
    "a time to watch in": get(f"{WATCH}&timeout=abc"),
    **{
        f"an answer for people: {asked!r}": get(f"{MAPS}/nothing?pretty={asked}", "User-Agent: curl/8.5.0")
        for asked in ("T", "F", "yes", "")
    },
    **{
        f"a list with {query}": get(f"{MAPS}?labelSelector=nothing&{query}")
        for query in ("limit=", "timeoutSeconds=", "limit=%2B1", "watch=False", "continue=")
    },
    **{
        f"a list with {query}={name}": get(f"{MAPS}?labelSelector=nothing&{query}={number}")
        for query in ("limit", "timeoutSeconds", "resourceVersion")
        for name, number in NUMBERS.items()
    },
    **{
        f"a watch from {name}": get(f"{MAPS}?watch=1&timeoutSeconds=-1&resourceVersion={number}")
        for name, number in NUMBERS.items()
        if name != "a small number"
    },
    **{
        f"an object as old as {name}": get(f"{MAPS}/nothing?resourceVersion={number}")
        for name, number in NUMBERS.items()
        if name != "a small number"
    },
    "a deletion with more grace than can be": delete(f"{COLOURS}?dryRun=All&gracePeriodSeconds={MANY}"),
    "a list from a place in a version that nothing holds": get(f"{MAPS}?continue={PLACE}"),
    "a deletion with no grace at all": delete(f"{COLOURS}?dryRun=All&gracePeriodSeconds="),
    "a watch of no kind": get("/apis/apps/v1/watch/"),
    "a way through to nothing": send("POST", "/api/v1/proxy", "{}"),
    "a way through a pod that is not there": get(f"{CORE}/pods/nothing/proxy/some/where"),
    "a deletion through a service that is not there": delete(f"{CORE}/services/nothing/proxy"),
    "the log of a pod that is not there": get(f"{CORE}/pods/nothing/log"),
    "a token for nobody": send("POST", f"{CORE}/serviceaccounts/nobody/token", "{}"),
    "a binding of another pod": send("POST", f"{CORE}/pods/nothing/binding", "{}"),
    "the options of everything": Exchange(sent=request("OPTIONS", "*")),
    "a watch of nothing": get("/api/v1/watch"),
}
LENIENCE = "Go reads HTTP that is not quite right; here it is refused, and the connection ends."
SILENCE = "What is no HTTP is refused without saying why."
DIFFERING: Mapping[str, tuple[str, Exchange]] = {
    "HTTP/2 is offered": (
        "There is only HTTP/1.1: clients fall back to it, and open a connection for each of their watches.",
        Exchange(sent="", answers=0, protocols=("h2", "http/1.1")),
    ),
    "a large answer may be compressed": (
        "Answers are never compressed: on loopback that costs more than it saves.",
        get("/openapi/v2", "Accept-Encoding: gzip", "Accept: application/json"),
    ),
    "discovery may be kept": (
        "Documents carry no ETag and are sent anew each time.",
        get("/apis", "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
    ),
    "a client without TLS": (
        "The connection is closed without a word.",
        Exchange(sent="GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", plain=True),
    ),
    "lines that end early": (
        LENIENCE,
        Exchange(sent=request("GET", "/healthz").replace("\r\n", "\n")),
    ),
    "a body that goes on": (
        "What follows a body is read before the body is answered.",
        send("POST", DRY, BODY, "Content-Length: 5"),
    ),
    "a header with a space": (SILENCE, get("/healthz", "X : y")),
    "no host": (SILENCE, Exchange(sent=f"GET /healthz HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n")),
    "a folded header": (LENIENCE, get("/healthz", "X: y\r\n z")),
    "one length twice": (
        LENIENCE,
        send("POST", DRY, "{", "Content-Length: 1", "Content-Length: 1"),
    ),
    "a length beside pieces": (
        LENIENCE,
        send("POST", DRY, "1\r\n{\r\n0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 1"),
    ),
    "pieces of no size": (
        "The real server finds out while it reads the body, and says 500.",
        send("POST", DRY, "zz\r\n", "Transfer-Encoding: chunked"),
    ),
    "an unknown coding of a body": (
        "The real server says 501.",
        send("POST", DRY, "", "Transfer-Encoding: cow"),
    ),
    "hundreds of headers": (
        "At most 128 headers are read.",
        get(f"{MAPS}/nothing", *(f"X-{number}: y" for number in range(200))),
    ),
    "a method in small letters": (LENIENCE, Exchange(sent=request("get", "/healthz"))),
    "an address in letters beyond ASCII": (LENIENCE, get(f"{MAPS}/caf\u00e9")),
    "a version of HTTP that is to come": (LENIENCE, get("/healthz", version="HTTP/1.2")),
    "an upgrade of a watch to a web socket": (
        "Watches are told over plain HTTP alone.",
        get(
            WATCH,
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ),
    ),
    "a watch in protocol buffers": (
        "Answers are written in JSON and YAML alone.",
        get(WATCH, "Accept: application/vnd.kubernetes.protobuf"),
    ),
    "a client that says no more, and only listens": (
        "The connection is closed; the real server still answers.",
        Exchange(sent="GET /healthz HTT", ends=True),
    ),
    "an address that is a star": (LENIENCE, Exchange(sent=request("GET", "*"))),
}


def deep(levels: int) -> str:
    """Maps within lists within maps."""
    return '{"a":[' * (levels // 2) + "]}" * (levels // 2)


def with_unknown(levels: int, name: str = "new") -> str:
    """A ConfigMap with a field that nobody knows, which is so deep."""
    return f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"unknown":{deep(levels)}}}'


HAVING = f"{COLOURS}?dryRun=All"
UNKNOWN = '{"unknown":%s}'
DEPTHS = {
    f"{what}, {levels} levels deep": exchange
    for levels in (600, 9_998, 10_002)
    for what, exchange in {
        "an unknown field": send("POST", DRY, with_unknown(levels)),
        "an unknown field in YAML": send("POST", DRY, with_unknown(levels), media="application/yaml"),
        "an unknown field, strictly": send("POST", f"{DRY}&fieldValidation=Strict", with_unknown(levels)),
        "a text": send("POST", DRY, f'{{"metadata":{{"name":"new"}},"data":{{"a":{deep(levels)}}}}}'),
        "an update": send("PUT", HAVING, with_unknown(levels, "colours")),
        "a merge patch": send("PATCH", HAVING, UNKNOWN % deep(levels), media=MERGE),
        "a strategic merge patch": send("PATCH", HAVING, UNKNOWN % deep(levels), media=STRATEGIC),
        "a JSON patch": send(
            "PATCH",
            HAVING,
            f'[{{"op":"add","path":"/unknown","value":{deep(levels)}}}]',
            media=JSON_PATCH,
        ),
        "an apply": send("PATCH", f"{HAVING}&fieldManager=m", with_unknown(levels, "colours"), media=APPLY),
        "options of a deletion": send("DELETE", f"{MAPS}/nothing", UNKNOWN % deep(levels)),
    }.items()
}
SAME = {
    **OPTIONS, **MEDIA, **WATCHES, **FORMS, **PATHS, **PEOPLE, **HTTP, **SHAPES, **HEALTH,
    **ODDITIES, **DEPTHS,
}  # fmt: skip
EXCHANGES = {**SAME, **{name: exchange for name, (_, exchange) in DIFFERING.items()}}
MASKS = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
    (r"record \([0-9]+\)", "record (<version>)"),
    (r'(resourceVersion\\*"?: \\*")[0-9]+', r"\1<version>"),
    (r"[0-9]{4}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}Z", "<time>"),
)


def told(client: Client, exchange: Exchange, *, whole: bool = False) -> list[Any]:
    """What a server makes of an exchange: its answers, and how the connection ends early if it does.

    Long documents and most headers are left out, unless the `whole` is asked for.
    """
    raw = socket.create_connection(("127.0.0.1", client.port), timeout=30)
    if exchange.plain:
        with raw:
            return _spoken(raw, exchange, client.token, whole=whole)
    tls = client.tls(exchange.protocols)
    with tls.wrap_socket(raw, server_hostname="127.0.0.1") as line:
        if exchange.protocols:
            return [line.selected_alpn_protocol()]
        return _spoken(line, exchange, client.token, whole=whole)


def _spoken(line: socket.socket, exchange: Exchange, token: str, *, whole: bool) -> list[Any]:
    with closing(line.makefile("rb")) as answers:
        line.sendall(exchange.sent.replace(TOKEN, token).encode())
        if exchange.ends:
            socket.socket.shutdown(line, socket.SHUT_WR)  # TLS itself would not listen any more
        found = [_answer(answers, exchange, whole=whole)]
        if exchange.then:
            line.sendall(exchange.then.encode())
        found += [_answer(answers, exchange, whole=whole) for _ in range(exchange.answers - 1)]
    return [_masked(each) for each in found]


def _answer(stream: BinaryIO, exchange: Exchange, *, whole: bool) -> Any:
    """One answer, read as far as it says that it goes."""
    try:
        first = stream.readline().decode()
    except OSError:
        first = ""
    if not first:
        return "closed"
    headers: dict[str, list[str]] = {}
    while line := stream.readline().decode().strip():
        name, _, text = line.partition(":")
        headers.setdefault(name.lower(), []).append(text.strip())
    code = int(first.split()[1])
    bodiless = code in (100, 204) or exchange.sent.startswith("HEAD ")
    body = b"" if bodiless else _body(stream, headers)
    media = headers.get("content-type", [""])[0]
    said = {name: sorted(headers[name]) for name in (headers if whole else TOLD) if name in headers}
    if exchange.briefly and code == 200:
        return {"code": code, "media": media, "headers": said}
    return {
        "code": code,
        "media": media if body else "",
        "headers": said,
        "said": _read(body, media, whole=whole),
    }


def _body(stream: BinaryIO, headers: Mapping[str, list[str]]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", []):
        parts = []
        while size := int(stream.readline(), 16):
            parts.append(stream.read(size))
            stream.readline()
        stream.readline()
        return b"".join(parts)
    length = headers.get("content-length")
    return stream.read(int(length[0])) if length else stream.read()


def _read(body: bytes, media: str, *, whole: bool) -> Any:
    """What is said; where it is laid out over many lines, as it stands; long documents by their start."""
    text = body.decode(errors="replace")
    if whole:
        return json.loads(text) if media.endswith("json") else text
    if text and media.startswith(JSON) and text.count("\n") <= 1 and len(text) < 5000:
        return json.loads(text)
    return text if len(text) < 5000 else "a long document"


def _masked(value: Any) -> Any:
    text = json.dumps(value)
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return json.loads(text)


def recorded(path: Path) -> Mapping[str, Any]:
    """The recorded answers, by the name of the exchange."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found
