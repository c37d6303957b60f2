"""The kinds that behaviours read and write, by the name discovery gives them. Pure."""

from __future__ import annotations

CONFIG_MAP = "ConfigMap"
CONTROLLER_REVISION = "ControllerRevision.apps"
CRON_JOB = "CronJob.batch"
CUSTOM_RESOURCE_DEFINITION = "CustomResourceDefinition.apiextensions.k8s.io"
DAEMON_SET = "DaemonSet.apps"
DEPLOYMENT = "Deployment.apps"
ENDPOINTS = "Endpoints"
ENDPOINT_SLICE = "EndpointSlice.discovery.k8s.io"
EVENT = "Event"
JOB = "Job.batch"
NAMESPACE = "Namespace"
NODE = "Node"
PERSISTENT_VOLUME = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
POD = "Pod"
POD_DISRUPTION_BUDGET = "PodDisruptionBudget.policy"
REPLICA_SET = "ReplicaSet.apps"
REPLICATION_CONTROLLER = "ReplicationController"
SERVICE = "Service"
SERVICE_ACCOUNT = "ServiceAccount"
STATEFUL_SET = "StatefulSet.apps"
STORAGE_CLASS = "StorageClass.storage.k8s.io"


def full_kind(api_version: str, kind: str) -> str:
    """`Deployment.apps` for `apps/v1` and `Deployment`; `Pod` for `v1` and `Pod`."""
    group, slash, _ = api_version.partition("/")
    return f"{kind}.{group}" if slash else kind
