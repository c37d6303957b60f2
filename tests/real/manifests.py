"""The manifests that the stories are about."""

from __future__ import annotations

from typing import Any

import yaml

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: registry.example/web:1.0
        ports:
        - {name: http, containerPort: 8080}
"""
COLOURS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: colours}
data: {sky: blue}
"""
BOTH = f"{WEB}---\n{COLOURS}"


def container(manifest: Any) -> Any:
    """The one container of a workload."""
    (found,) = manifest["spec"]["template"]["spec"]["containers"]
    return found


def definition(group: str) -> str:
    """A CRD of Widgets with a schema, a status and a scale, in a group of its own."""
    shape = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "description": "What the widget shall be.",
                "required": ["colour"],
                "properties": {
                    "colour": {"type": "string", "enum": ["blue", "red"], "description": "How it looks."},
                    "size": {"type": "integer", "default": 3, "minimum": 1},
                },
            },
            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": shape},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
    }
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]}
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    return yaml.safe_dump(manifest)


def widget(group: str, **spec: Any) -> str:
    """A Widget called w."""
    manifest = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}
    return yaml.safe_dump(manifest)
