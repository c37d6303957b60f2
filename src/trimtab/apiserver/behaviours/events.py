"""What controllers, the scheduler and kubelets tell users about what they do: Events. Pure.

Each tells of a change once it is made, from the object before and after. Told is what users look for:
replica sets scaled, pods made and given up, placed or not, images pulled or not, containers started and
restarted, Jobs done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from trimtab.apiserver.behaviours.changes import (
    Bind,
    Change,
    Create,
    Delete,
    Done,
    News,
    Update,
    Voice,
    nothing_more,
)
from trimtab.apiserver.behaviours.kinds import (
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    STATEFUL_SET,
)
from trimtab.apiserver.behaviours.kinds import REPLICA_SET as REPLICA_SET_KIND
from trimtab.apiserver.behaviours.manifests import (
    Manifest,
    controller_of,
    full_name,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    stamp,
    status_of,
    uid_of,
)
from trimtab.apiserver.behaviours.world import World

ENDS = ("Complete", "Failed")


def event(news: News, component: str, now: datetime, number: int) -> dict[str, Any]:
    """The Event that tells this for the first time; numbers tell Events of one moment apart."""
    namespace, name = full_name(news.about)
    about = {
        "kind": news.about["kind"],
        "apiVersion": news.about["apiVersion"],
        "namespace": namespace,
        "name": name,
        "uid": uid_of(news.about),
        "resourceVersion": news.about["metadata"].get("resourceVersion", ""),
        "fieldPath": news.field,
    }
    moment = int(now.timestamp() * 1e9) + number
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{moment:x}", "namespace": namespace},
        "involvedObject": {key: value for key, value in about.items() if value},
        "reason": news.reason,
        "message": news.message,
        "type": "Warning" if news.warning else "Normal",
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "firstTimestamp": stamp(now),
        "lastTimestamp": stamp(now),
        "count": 1,
    }


def told_again(before: Manifest, news: News, now: datetime) -> dict[str, Any]:
    """The Event that tells the same once more, or something so similar that only the message changes."""
    times = {"count": before.get("count", 1) + 1, "lastTimestamp": stamp(now)}
    return {**before, **times, "message": news.message}


# -- controllers ------------------------------------------------------------------------------------------


def _scaled(world: World, done: Done) -> Iterator[News]:
    """A Deployment tells of its ReplicaSets."""
    after = done.after
    if after is None or kind_of(after) != REPLICA_SET_KIND:
        return
    owner = _controller(world, after, DEPLOYMENT)
    old = done.before["spec"].get("replicas", 0) if done.before is not None else 0
    new = after["spec"].get("replicas", 0)
    if owner is not None and old != new:
        way = "up" if new > old else "down"
        told = f"Scaled {way} replica set {name_of(after)} from {old} to {new}"
        yield News(owner, "ScalingReplicaSet", told)


def _controller(world: World, dependent: Manifest, kind: str) -> Manifest | None:
    controller = controller_of(dependent)
    found = world.by_uid(controller["uid"]) if controller else None
    return found if found is not None and kind_of(found) == kind else None


def _owner(world: World, dependent: Manifest) -> Manifest | None:
    controller = controller_of(dependent)
    return world.by_uid(controller["uid"]) if controller else None


def _with_pods(world: World, done: Done) -> Iterator[News]:
    """Whoever makes pods tells of them."""
    match done.change:
        case Create() if done.after is not None and kind_of(done.after) == POD:
            owner, reason, told = _owner(world, done.after), "SuccessfulCreate", "Created"
            name = name_of(done.after)
        case Delete(target=target) if kind_of(target) == POD:
            owner, reason, told, name = _owner(world, target), "SuccessfulDelete", "Deleted", name_of(target)
        case _:
            return
    if owner is not None:
        yield News(owner, reason, f"{told} pod: {name}")


def _in_order(world: World, done: Done) -> Iterator[News]:
    """A StatefulSet tells of its pods and their claims."""
    match done.change:
        case Create(body=body) if kind_of(body) == PERSISTENT_VOLUME_CLAIM:
            yield from _claimed(world, body)
            return
        case Create() if done.after is not None and kind_of(done.after) == POD:
            made, verb = done.after, "Create"
        case Delete(target=target) if kind_of(target) == POD:
            made, verb = target, "Delete"
        case Update(body=body) if kind_of(body) == POD and labels_of(body) != labels_of(done.before or body):
            made, verb = body, "Update"
        case _:
            return
    owner = _owner(world, made)
    if owner is not None:
        told = f"{verb} Pod {name_of(made)} in StatefulSet {name_of(owner)} successful"
        yield News(owner, f"Successful{verb}", told)


def _claimed(world: World, claim: Manifest) -> Iterator[News]:
    """The StatefulSet for which a claim was made: nothing but its name tells."""
    for owner in world.all(STATEFUL_SET, namespace_of(claim)):
        for template in owner["spec"].get("volumeClaimTemplates") or ():
            start = f"{template['metadata']['name']}-"
            pod = name_of(claim).removeprefix(start)
            if name_of(claim).startswith(start) and re.fullmatch(rf"{re.escape(name_of(owner))}-\d+", pod):
                told = f"Create Claim {name_of(claim)} Pod {pod} in StatefulSet {name_of(owner)} success"
                yield News(owner, "SuccessfulCreate", told)


def _unordered(owner: Manifest, change: Change, why: str) -> News:
    verb = "Update" if isinstance(change, Update) else "Create"
    pod = name_of(change.body) if isinstance(change, Create | Update) else ""
    told = f"{verb} Pod {pod} in StatefulSet {name_of(owner)} failed error: {why}"
    return News(owner, f"Failed{verb}", told, warning=True)


def _job(world: World, done: Done) -> Iterator[News]:
    """A Job tells of its pods, and of its end."""
    yield from _with_pods(world, done)
    after = done.after
    if not isinstance(done.change, Update) or after is None or kind_of(after) != JOB:
        return
    for kind, condition in _news_among(done.before, after):
        match kind, condition["status"]:
            case "Complete", "True":
                yield News(after, "Completed", "Job completed")
            case "Failed", "True":
                told = condition.get("message", "")
                yield News(after, condition.get("reason", ""), told, warning=True)
            case "Suspended", status:
                word = "Suspended" if status == "True" else "Resumed"
                yield News(after, word, f"Job {word.lower()}")
            case _:
                pass


def _news_among(before: Manifest | None, after: Manifest) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The conditions whose status has changed."""
    old = {each["type"]: each["status"] for each in status_of(before or {}).get("conditions") or ()}
    for each in status_of(after).get("conditions") or ():
        if old.get(each["type"]) != each["status"]:
            yield each["type"], each


def _cron_job(world: World, done: Done) -> Iterator[News]:
    """A CronJob tells of its Jobs."""
    match done.change:
        case Create() if done.after is not None and kind_of(done.after) == JOB:
            job, reason, told = done.after, "SuccessfulCreate", "Created"
        case Delete(target=target) if kind_of(target) == JOB:
            job, reason, told = target, "SuccessfulDelete", "Deleted"
        case Update(subresource="status") if done.after is not None and kind_of(done.after) == CRON_JOB:
            yield from _completed(world, done.before, done.after)
            return
        case _:
            return
    owner = _controller(world, job, CRON_JOB)
    if owner is not None:
        yield News(owner, reason, f"{told} job {name_of(job)}")


def _completed(world: World, before: Manifest | None, cron_job: Manifest) -> Iterator[News]:
    """The Jobs that were active and are done."""
    still = {each.get("uid") for each in status_of(cron_job).get("active") or ()}
    for each in status_of(before or {}).get("active") or ():
        uid = each.get("uid", "")
        job = world.by_uid(uid) if uid not in still else None
        ends = status_of(job or {}).get("conditions") or ()
        end = next((e["type"] for e in ends if e["type"] in ENDS and e["status"] == "True"), "")
        if job is not None and end:
            told = f"Saw completed job: {name_of(job)}, condition: {end}"
            yield News(cron_job, "SawCompletedJob", told)


# -- scheduler and kubelet --------------------------------------------------------------------------------


def _placed(_world: World, done: Done) -> Iterator[News]:
    """The scheduler tells where a pod goes, or why it goes nowhere."""
    match done.change:
        case Bind(pod=pod, node=node):
            told = f"Successfully assigned {namespace_of(pod)}/{name_of(pod)} to {node}"
            yield News(pod, "Scheduled", told)
        case Update() if done.after is not None and kind_of(done.after) == POD:
            for each in status_of(done.after).get("conditions") or ():
                if each["type"] == "PodScheduled" and each["status"] == "False":
                    yield News(done.after, "FailedScheduling", each.get("message", ""), warning=True)
        case _:
            return


def _containers(_world: World, done: Done) -> Iterator[News]:
    """A kubelet tells of images and containers."""
    after = done.after
    if not isinstance(done.change, Update) or after is None or kind_of(after) != POD:
        return
    before = {each["name"]: each for each in status_of(done.before or {}).get("containerStatuses") or ()}
    for each in status_of(after).get("containerStatuses") or ():
        for reason, told, warning in _container(before.get(each["name"], {}), each, after):
            field = f"spec.containers{{{each['name']}}}"
            yield News(after, reason, told, warning=warning, field=field)


def _container(
    before: Mapping[str, Any], now: Mapping[str, Any], pod: Manifest
) -> Iterator[tuple[str, str, bool]]:
    """What happened to one container: reason, message, and whether it is bad news."""
    image, state = now["image"], now["state"]
    waiting = (state.get("waiting") or {}).get("reason", "")
    was = ((before.get("state") or {}).get("waiting") or {}).get("reason", "")
    started = now.get("containerID", "") != before.get("containerID", "") and now.get("containerID")
    if started and _is_pulled(pod, now["name"]):
        yield "Pulling", f'Pulling image "{image}"', False
        told = f'Successfully pulled image "{image}" in 0s (0s including waiting). Image size: 0 bytes.'
        yield "Pulled", told, False
    elif started:
        yield "Pulled", f'Container image "{image}" already present on machine', False
    if started:
        yield "Created", "Container created", False
        yield "Started", "Container started", False
    if waiting == "ErrImagePull" != was:
        yield "Pulling", f'Pulling image "{image}"', False
        yield "Failed", f'Failed to pull image "{image}": {state["waiting"]["message"]}', True
        yield "Failed", "Error: ErrImagePull", True
    if waiting == "ImagePullBackOff" != was:
        yield "BackOff", f'Back-off pulling image "{image}"', False
        yield "Failed", "Error: ImagePullBackOff", True
    if waiting == "CrashLoopBackOff" and started:
        where = f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"
        yield "BackOff", f"Back-off restarting failed container {now['name']} in pod {where}", True


def _is_pulled(pod: Manifest, container: str) -> bool:
    """Whether the container's image is fetched each time; others are on every node already."""
    return any(
        each["name"] == container and each.get("imagePullPolicy") == "Always"
        for each in pod["spec"]["containers"]
    )


# -- who speaks -------------------------------------------------------------------------------------------

DEPLOYMENT_VOICE = Voice("deployment-controller", _scaled)
REPLICA_SET_VOICE = Voice("replicaset-controller", _with_pods)
STATEFUL_SET_VOICE = Voice("statefulset-controller", _in_order, _unordered)
REPLICATION_CONTROLLER_VOICE = Voice("replication-controller", _with_pods)
DAEMON_SET_VOICE = Voice("daemonset-controller", _with_pods)
JOB_VOICE = Voice("job-controller", _job)
CRON_JOB_VOICE = Voice("cronjob-controller", _cron_job)
SCHEDULER_VOICE = Voice("default-scheduler", _placed, combines=False)
GARBAGE_VOICE = Voice("garbage-collector-controller", nothing_more)
CLAIM_VOICE = Voice("persistentvolume-controller", nothing_more)
DISRUPTION_VOICE = Voice("controllermanager", nothing_more)
KUBELET_VOICE = Voice("kubelet", _containers)
