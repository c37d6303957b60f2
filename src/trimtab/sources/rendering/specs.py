"""What is asked of a source: where the manifests lie in a tree and how they are made. Pure values.

The fields are those of an Application's `source`, with Argo CD's meaning; wire spellings are not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Directory(Struct, frozen=True, kw_only=True):
    """A folder of YAML and JSON files."""

    #: also the folders below it
    recurse: bool = False
    #: globs over paths below the folder, `{a,b}` for several; a `*` also matches `/`
    include: str = ""
    exclude: str = ""
    #: read every file, not only those that end in .yaml, .yml or .json
    disable_extension_filter: bool = False


class Replicas(Struct, frozen=True, kw_only=True):
    """How many replicas a named workload gets."""

    name: str
    count: int


class Patch(Struct, frozen=True, kw_only=True):
    """One more patch: its text or a file, and what it is for; spelled as in a kustomization."""

    patch: str = ""
    path: str = ""
    target: Mapping[str, str] = {}
    options: Mapping[str, bool] = {}


class Kustomize(Struct, frozen=True, kw_only=True):
    """What is changed about a kustomization before it is built; the tenant's files stay as they are."""

    name_prefix: str = ""
    name_suffix: str = ""
    #: as `kustomize edit set image` takes them: `old=new:tag`, `name:tag`, `name@digest`
    images: tuple[str, ...] = ()
    replicas: tuple[Replicas, ...] = ()
    patches: tuple[Patch, ...] = ()
    components: tuple[str, ...] = ()
    ignore_missing_components: bool = False
    common_labels: Mapping[str, str] = {}
    common_annotations: Mapping[str, str] = {}
    force_common_labels: bool = False
    force_common_annotations: bool = False
    label_without_selector: bool = False
    label_include_templates: bool = False
    namespace: str = ""
    #: the version of kustomize that has to be used; empty: whichever is found
    version: str = ""
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


class Parameter(Struct, frozen=True, kw_only=True):
    """One value set by its path in the values."""

    name: str
    value: str
    force_string: bool = False


class FileParameter(Struct, frozen=True, kw_only=True):
    """One value read from a file."""

    name: str
    path: str


class Helm(Struct, frozen=True, kw_only=True):
    """How a chart is rendered."""

    #: empty: the name of the app
    release_name: str = ""
    #: relative to the chart; `/x` is relative to the repository, `$name/x` lies in the source of that name
    value_files: tuple[str, ...] = ()
    #: values as a YAML text
    values: str = ""
    #: values as an object; goes before `values`
    values_object: Mapping[str, Any] | None = None
    parameters: tuple[Parameter, ...] = ()
    file_parameters: tuple[FileParameter, ...] = ()
    #: `v3`, or empty; charts of Helm 2 are rendered like all others
    version: str = ""
    pass_credentials: bool = False
    ignore_missing_value_files: bool = False
    skip_crds: bool = False
    skip_tests: bool = False
    skip_schema_validation: bool = False
    #: empty: the namespace of the destination
    namespace: str = ""
    #: empty: those of the cluster
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


class SourceSpec(Struct, frozen=True, kw_only=True):
    """One source: a path in its tree, and at most one way to make manifests of it, or it is recognised."""

    path: str = ""
    #: a chart by its name instead of a path: its tree is the unpacked chart
    chart: str = ""
    directory: Directory | None = None
    kustomize: Kustomize | None = None
    helm: Helm | None = None


class Capabilities(Struct, frozen=True, kw_only=True):
    """What the destination cluster can do: charts may ask."""

    #: such as `1.36.3`; empty: what helm itself assumes
    kube_version: str = ""
    #: such as `apps/v1` and `apps/v1/Deployment`
    api_versions: tuple[str, ...] = ()
