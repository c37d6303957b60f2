"""Which of our behaviours plays which of the real controllers, and why nobody plays the others. Pure.

A test holds the names against those of the real programme. The documentation's table is made from this.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Part(Struct, frozen=True):
    """A part in the play: the titles of the behaviours that play it, or why it is left out."""

    played_by: tuple[str, ...] = ()
    left_out: str = ""


def _by(*titles: str) -> Part:
    return Part(played_by=titles)


def _nobody(why: str) -> Part:
    return Part(left_out=why)


_NO_CLOUD = _nobody("There is no cloud.")
_NO_SIGNING = _nobody("Nothing signs or approves requests for certificates.")
_NO_STORAGE = _nobody("Volumes hold nothing, so none is attached or grown.")
_NO_LOAD = _nobody("There is no load to measure.")
_NO_DEVICES = _nobody("Nodes have no devices to hand out.")
_UNTRACKED = _nobody("It only tidies up behind servers and kubelets that are not here.")

CONTROLLERS: Mapping[str, Part] = {
    "bootstrap-signer-controller": _NO_SIGNING,
    "certificatesigningrequest-approving-controller": _NO_SIGNING,
    "certificatesigningrequest-cleaner-controller": _NO_SIGNING,
    "certificatesigningrequest-signing-controller": _NO_SIGNING,
    "cloud-node-lifecycle-controller": _NO_CLOUD,
    "clusterrole-aggregation-controller": _nobody("Rules stay as they were written."),
    "cronjob-controller": _by("cron jobs"),
    "daemonset-controller": _by("daemon sets"),
    "deployment-controller": _by("deployments"),
    "device-taint-eviction-controller": _NO_DEVICES,
    "disruption-controller": _by("disruptions"),
    "endpoints-controller": _by("endpoints"),
    "endpointslice-controller": _by("endpoints"),
    "endpointslice-mirroring-controller": _nobody("Endpoints written by hand stay alone."),
    "ephemeral-volume-controller": _nobody("Pods start without the claims of their ephemeral volumes."),
    "garbage-collector-controller": _by("garbage"),
    "horizontal-pod-autoscaler-controller": _NO_LOAD,
    "job-controller": _by("jobs"),
    "kube-apiserver-serving-clustertrustbundle-publisher-controller": _NO_SIGNING,
    "legacy-serviceaccount-token-cleaner-controller": _UNTRACKED,
    "namespace-controller": _by("namespaces"),
    "node-ipam-controller": _NO_CLOUD,
    "node-lifecycle-controller": _by("taints"),
    "node-route-controller": _NO_CLOUD,
    "persistentvolume-attach-detach-controller": _NO_STORAGE,
    "persistentvolume-binder-controller": _by("claims", "volumes", "storage classes"),
    "persistentvolume-expander-controller": _NO_STORAGE,
    "persistentvolume-protection-controller": _by("volumes"),
    "persistentvolumeclaim-protection-controller": _by("claims"),
    "pod-garbage-collector-controller": _by("strays"),
    "podcertificaterequest-cleaner-controller": _NO_SIGNING,
    "podgroup-protection-controller": _UNTRACKED,
    "replicaset-controller": _by("replica sets"),
    "replicationcontroller-controller": _by("replication controllers"),
    "resourceclaim-controller": _NO_DEVICES,
    "resourcepoolstatusrequest-controller": _NO_DEVICES,
    "resourcequota-controller": _nobody("Nothing counts what quotas limit."),
    "root-ca-certificate-publisher-controller": _by("namespaces"),
    "selinux-warning-controller": _NO_STORAGE,
    "service-cidr-controller": _nobody("The one range of addresses is always ready."),
    "service-lb-controller": _NO_CLOUD,
    "serviceaccount-controller": _by("namespaces"),
    "serviceaccount-token-controller": _nobody("Secrets for tokens stay empty."),
    "statefulset-controller": _by("stateful sets"),
    "storage-version-migrator-controller": _UNTRACKED,
    "storageversion-garbage-collector-controller": _UNTRACKED,
    "taint-eviction-controller": _nobody("A taint keeps new pods away, and drives none out."),
    "token-cleaner-controller": _UNTRACKED,
    "ttl-after-finished-controller": _by("jobs"),
    "ttl-controller": _UNTRACKED,
    "validatingadmissionpolicy-status-controller": _nobody("Policies are not checked for their types."),
    "volumeattributesclass-protection-controller": _NO_STORAGE,
}
#: behaviours that play no controller: the scheduler, kubelets, and the server itself
OTHERS = frozenset({"nodes", "scheduler", "kubelet", "expiry"})
