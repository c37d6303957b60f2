"""What two clusters may differ in: identities, versions, times, addresses, generated names. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Json = dict[str, Any]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|(?=[+-]\d\d:\d\d))")
_IP = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"
#: how often these are rewritten depends on how quickly pods follow each other
_UNSTEADY = ("endpoints.kubernetes.io/last-change-trigger-time",)
_UNCOUNTED = ("EndpointSlice", "Endpoints")
#: who is listened to; KWOK, which stands in for kubelets beside the real controllers, tells nothing
_TELLERS = (
    "deployment-controller", "replicaset-controller", "statefulset-controller", "daemonset-controller",
    "job-controller", "cronjob-controller", "garbage-collector-controller", "persistentvolume-controller",
)  # fmt: skip


class Names:
    """Generated names, told apart by the order in which they appeared."""

    def __init__(self, namespace: str) -> None:
        self._words: dict[str, str] = {namespace: "NAMESPACE"}

    def learn(self, manifest: Mapping[str, Any]) -> None:
        """Take note of a hash or a scheduled minute in this object's name."""
        labels = manifest["metadata"].get("labels") or {}
        for label in ("pod-template-hash", "controller.kubernetes.io/hash"):
            self._note(labels.get(label, ""))
        if manifest["kind"] == "ControllerRevision":
            self._note(labels.get("controller-revision-hash", ""))
        for owner in manifest["metadata"].get("ownerReferences") or ():
            if owner["kind"] == "CronJob":
                self._note(manifest["metadata"]["name"].rpartition("-")[2])

    def _note(self, word: str) -> None:
        if word:
            self._words.setdefault(word, f"HASH{len(self._words)}")

    def masked(self, text: str) -> str:
        """The text with every generated part replaced."""
        for word, stands_for in self._words.items():
            text = text.replace(word, stands_for)
        text = _TIME.sub("TIME", _UID.sub("UID", _IP.sub("IP", text)))
        return re.sub(rf"(kube-api-access|HASH\d+|[a-z]+(?:-\d)?)-{_SUFFIX}(?=$|\"| )", r"\1-*", text)


def condition_lines(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Each condition of an object as one line."""
    return {
        each["type"]: " ".join(filter(None, (each["status"], each.get("reason"), each.get("message"))))
        for each in (manifest.get("status") or {}).get("conditions") or ()
    }


def masked_conditions(told: Mapping[str, Mapping[str, list[str]]], names: Names) -> Json:
    """The conditions of every object that had some, in the order in which they came."""
    return {
        names.masked(title): {kind: [names.masked(line) for line in lines] for kind, lines in kinds.items()}
        for title, kinds in told.items()
        if kinds
    }


def event_lines(events: Iterable[Mapping[str, Any]], names: Names) -> list[str]:
    """What users are told by controllers, each thing once."""
    return sorted({_event_line(each, names) for each in events if _teller(each) in _TELLERS})


def _teller(event: Mapping[str, Any]) -> str:
    return str(event.get("reportingComponent") or event["source"].get("component", ""))


def _event_line(event: Mapping[str, Any], names: Names) -> str:
    about = event["involvedObject"]
    named = re.sub(r"-[a-z0-9]{5}$", "-*", names.masked(f"{about['kind']} {about['name']}"))
    said = re.sub(r"-[a-z0-9]{5}(?=$| )", "-*", names.masked(event["message"]))
    return f"{_teller(event)}: {event['type']} {named} {event['reason']}: {said}"


def final_objects(objects: Iterable[Mapping[str, Any]], names: Names) -> list[Json]:
    """The objects, masked, in an order that does not depend on what was masked."""
    masked = [_masked(each, names) for each in objects]
    return sorted(masked, key=lambda each: json.dumps(each, sort_keys=True))


def _masked(manifest: Mapping[str, Any], names: Names) -> Json:
    metadata = {
        key: value
        for key, value in manifest["metadata"].items()
        if key not in ("uid", "resourceVersion", "managedFields", "creationTimestamp", "deletionTimestamp")
    }
    metadata["managers"] = managers_of(manifest)
    if manifest["kind"] in _UNCOUNTED:
        metadata.pop("generation", None)
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key not in _UNSTEADY}
    whole = {**manifest, "metadata": metadata}
    if manifest["kind"] == "Pod":
        whole["status"] = _pod_status(manifest["status"])
    if manifest["kind"] == "ConfigMap" and metadata["name"] == "kube-root-ca.crt":
        whole["data"] = sorted(manifest["data"])
    cleaned = _cleaned(whole, names)
    assert isinstance(cleaned, dict)
    return cleaned


#: who plays the kubelets: beside the real controllers KWOK
_KUBELETS = ("kubelet", "kwok")


def managers_of(manifest: Mapping[str, Any]) -> Json:
    """Who has written which fields of an object, and how; of kubelets only that they did."""
    told: Json = {}
    for entry in manifest["metadata"].get("managedFields") or ():
        kubelet = entry["manager"] in _KUBELETS
        who = "KUBELET" if kubelet else entry["manager"]
        words = (who, entry["operation"], entry["apiVersion"], entry.get("subresource", ""))
        fields = ["FIELDS"] if kubelet else sorted(_paths(entry["fieldsV1"]))
        told.setdefault(" ".join(filter(None, words)), []).extend(fields)
    return told


def _paths(fields: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Every field of a set of managed fields as a path."""
    for step, below in fields.items():
        if step == ".":
            yield before
        elif below:
            yield from _paths(below, f"{before}/{step}")
        else:
            yield f"{before}/{step}"


def _pod_status(status: Mapping[str, Any]) -> Json:
    """The part of a pod's status that does not depend on who plays the kubelet."""
    over = status["phase"] in ("Succeeded", "Failed")  # KWOK leaves such pods ready, a kubelet does not
    wanted = ("PodScheduled",) if over else ("Ready", "ContainersReady", "PodScheduled")
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return {
        "phase": status["phase"],
        "qosClass": status.get("qosClass"),
        "conditions": {key: conditions[key] for key in wanted if key in conditions},
        "containers": [_container_line(each) for each in status.get("containerStatuses") or ()],
    }


def _container_line(container: Mapping[str, Any]) -> str:
    """What a container does, why, and how it ended; not since when, nor in which words a kubelet says it."""
    ((doing, how),) = container["state"].items()
    words = (container["name"], doing, how.get("reason", ""), str(how.get("exitCode", "")))
    return " ".join(filter(None, words))


def _cleaned(value: Any, names: Names) -> Any:
    if isinstance(value, Mapping):
        found = {
            key: _field(key, each, names) for key, each in value.items() if each not in (None, [], {}, "")
        }
        return {key: found[key] for key in sorted(found)}
    if isinstance(value, list):
        items = [_cleaned(each, names) for each in value]
        generated = all(isinstance(each, dict) and "targetRef" in each for each in items)
        return sorted(items, key=lambda each: json.dumps(each, sort_keys=True)) if generated else items
    return names.masked(value) if isinstance(value, str) else value


def _field(key: str, value: Any, names: Names) -> Any:
    if key == "nodeName":
        return "NODE"
    if key in ("resourceVersion", "uid"):
        return key.upper()
    if key == "volumeName":
        return "VOLUME"
    return _cleaned(value, names)
