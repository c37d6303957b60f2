"""A repository of many small apps: a third each plain files, kustomizations and charts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["plain", "kustomize", "helm"]

KINDS: Final[tuple[Kind, ...]] = ("plain", "kustomize", "helm")
#: kustomizations that share one base
SHARING: Final = 10


def name_of(number: int) -> str:
    """The app's name, which is its folder's, too."""
    return f"{kind_of(number)}-{number:04}"


def kind_of(number: int) -> Kind:
    """Which third an app belongs to."""
    return KINDS[number % 3]


def base_of(number: int) -> str:
    """The base that a kustomization shares with others."""
    return f"base-{number // (3 * SHARING):03}"


def files_of(number: int) -> Mapping[str, str]:
    """The files of one app, below its folder."""
    return _MAKERS[kind_of(number)](number)


def repository(apps: int) -> Iterator[tuple[str, str]]:
    """Every path and text of a repository of so many apps."""
    for number in range(apps):
        for path, text in files_of(number).items():
            yield f"apps/{name_of(number)}/{path}", text
    for base in sorted({base_of(number) for number in range(apps)}):
        yield f"bases/{base}/kustomization.yaml", "resources: [network.yaml]\n"
        yield f"bases/{base}/network.yaml", _NETWORK.format(name=base)


def _plain(number: int) -> dict[str, str]:
    name = name_of(number)
    return {
        "deployment.yaml": _DEPLOYMENT.format(name=name, image=f"registry.example/{name}:1.{number}"),
        "service.yaml": _SERVICE.format(name=name, port=8000 + number),
        "config.yaml": _CONFIG.format(name=name, number=number),
    }


def _kustomize(number: int) -> dict[str, str]:
    name = name_of(number)
    return {
        "kustomization.yaml": _KUSTOMIZATION.format(base=base_of(number), name=name, number=number),
        "deployment.yaml": _DEPLOYMENT.format(name=name, image="app"),
        "service.yaml": _SERVICE.format(name=name, port=8000 + number),
        "settings.properties": f"number={number}\ncolour=blue\n",
    }


def _helm(number: int) -> dict[str, str]:
    name = name_of(number)
    return {
        "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: 0.1.{number}\nappVersion: '1.{number}'\n",
        "values.yaml": f"replicas: {1 + number % 5}\nport: {8000 + number}\nimage: registry.example/{name}\n",
        "templates/_names.tpl": _NAMES,
        "templates/deployment.yaml": _CHART_DEPLOYMENT,
        "templates/service.yaml": _CHART_SERVICE,
        "templates/config.yaml": _CHART_CONFIG,
    }


_MAKERS: Final = {"plain": _plain, "kustomize": _kustomize, "helm": _helm}

_DEPLOYMENT: Final = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  labels:
    app: {name}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
    spec:
      containers:
      - name: main
        image: {image}
        ports:
        - containerPort: 8080
        env:
        - name: APP
          value: {name}
        resources:
          requests:
            cpu: 50m
            memory: 64Mi
        readinessProbe:
          httpGet:
            path: /ready
            port: 8080
"""
_SERVICE: Final = """apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  selector:
    app: {name}
  ports:
  - port: {port}
    targetPort: 8080
"""
_CONFIG: Final = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  number: "{number}"
  text: |
    several
    lines of {name}
"""
_NETWORK: Final = """apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {name}
spec:
  podSelector: {{}}
  policyTypes: [Ingress]
"""
_KUSTOMIZATION: Final = """resources:
- ../../bases/{base}
- deployment.yaml
- service.yaml
namespace: team-{number}
labels:
- pairs:
    team: team-{number}
images:
- name: app
  newName: registry.example/{name}
  newTag: "1.{number}"
configMapGenerator:
- name: settings
  files: [settings.properties]
"""
_NAMES: Final = """{{- define "app.labels" -}}
app: {{ .Chart.Name }}
release: {{ .Release.Name }}
version: {{ .Chart.AppVersion | quote }}
{{- end -}}
"""
_CHART_DEPLOYMENT: Final = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "app.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      app: {{ .Chart.Name }}
  template:
    metadata:
      labels: {{- include "app.labels" . | nindent 8 }}
    spec:
      containers:
      - name: main
        image: "{{ .Values.image }}:{{ .Chart.AppVersion }}"
        ports:
        - containerPort: {{ .Values.port }}
"""
_CHART_SERVICE: Final = """apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
  labels: {{- include "app.labels" . | nindent 4 }}
spec:
  selector:
    app: {{ .Chart.Name }}
  ports:
  - port: {{ .Values.port }}
"""
_CHART_CONFIG: Final = """apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  values: {{ .Values | toJson | quote }}
"""
