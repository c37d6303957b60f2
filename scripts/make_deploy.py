"""Writes deploy/: the Helm chart and the Kustomize base, both from what `trimtab install` prints.

A chart is its objects with expressions in the places of what may be chosen. Everything else comes from
`trimtab.app.install`, so the three ways to install cannot drift apart; a test renders and compares them all
the same.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trimtab import __version__
from trimtab.app.install import rights
from trimtab.app.install.manifests import (
    WEBHOOK_FOLDER,
    Install,
    cluster_roles,
    deployment,
    disruption_budget,
    namespace,
    network_policy,
    objects_of,
    records_role,
    roles,
    service,
    service_account,
    settings_of,
)
from trimtab.resources.manifests import Manifest
from trimtab.resources.yaml import dump

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
HEAD = "# Written by `make docs`: do not edit.\n"
_SCOPED = {"ClusterRole", "ClusterRoleBinding"}

# --- Kustomize ------------------------------------------------------------------------------------------


def kustomize_files() -> dict[str, str]:
    """The base for a whole cluster, made of the runner and its rights; and the rights for one namespace."""
    usual = objects_of(Install())
    one = [_unplaced(each) for each in roles(Install(namespaces=("",)))]
    return {
        "kustomize/kustomization.yaml": _kustomization("runner", "cluster.yaml"),
        "kustomize/cluster.yaml": _documents([each for each in usual if each["kind"] in _SCOPED]),
        "kustomize/runner/kustomization.yaml": _kustomization("runner.yaml"),
        "kustomize/runner/runner.yaml": _documents([each for each in usual if each["kind"] not in _SCOPED]),
        "kustomize/namespace/kustomization.yaml": _kustomization("role.yaml"),
        "kustomize/namespace/role.yaml": _documents(one),
    }


def _kustomization(*resources: str) -> str:
    made = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(resources),
    }
    return HEAD + dump(made)


def _documents(manifests: list[Manifest]) -> str:
    return HEAD + "---\n".join(dump(each) for each in manifests)


def _unplaced(manifest: Manifest) -> Manifest:
    """The object for any namespace: who uses it says which."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name != "namespace"}
    return {**manifest, "metadata": metadata}


# --- Helm -----------------------------------------------------------------------------------------------

#: expressions that stand for themselves and not for a text, between two signs that no manifest holds
_BARE = re.compile(r"'?§(.*?)§'?")
_CHOSEN: dict[str, Any] = {"namespace": "{{ $.Release.Namespace }}", "image": "{{ $.Values.image }}"}


def chart_files() -> dict[str, str]:
    """The chart, file by file."""
    install = Install(**_CHOSEN)
    plain = {
        "service-account": [service_account(install)],
        "records": list(records_role(install)),
        "service": [service(install)],
        "disruption-budget": [disruption_budget(install)],
    }
    return {
        "chart/Chart.yaml": _chart(),
        "chart/values.yaml": _values(),
        "chart/templates/NOTES.txt": _NOTES,
        "chart/templates/namespace.yaml": _when("$.Values.createNamespace", _template([namespace(install)])),
        "chart/templates/cluster-role.yaml": _cluster_role(install),
        "chart/templates/roles.yaml": _roles(),
        "chart/templates/network-policy.yaml": _network_policy(install),
        "chart/templates/deployment.yaml": _deployment(install),
        **{f"chart/templates/{name}.yaml": _template(objects) for name, objects in plain.items()},
    }


def _chart() -> str:
    made = {
        "apiVersion": "v2",
        "name": "trimtab",
        "description": "Keeps this cluster at the state that Git declares.",
        "type": "application",
        "version": re.sub(r"^(\d+\.\d+\.\d+)\.?(?=\w)", r"\1-", __version__),
        "appVersion": __version__,
        "kubeVersion": ">=1.25.0-0",
    }
    return HEAD + dump(made)


def _values() -> str:
    """Every choice with its meaning above it."""
    usual = Install()
    blocks = [
        ("whether the chart makes its namespace, with its restrictions", "createNamespace: false"),
        ("the image, built from deploy/Containerfile", f"image: {usual.image}"),
        ("how many runners; one works, the others wait for its lease", f"replicas: {usual.replicas}"),
        ("the namespaces it looks after; none: the whole cluster", "scope:\n  namespaces: []"),
        (
            "the repository that declares units, a folder of it, and what to follow",
            'repo:\n  url: ""\n  path: ""\n  revision: ""',
        ),
        ("further kinds it may manage, such as certificates.cert-manager.io", "also: []"),
        ("whether it may do everything within its scope", "everything: false"),
        ("Git hosts whose webhooks are heard; the Secret trimtab-webhooks has their secrets", "webhooks: []"),
        ("settings of the runner by name, such as repositories.poll_every: 1m", "settings: {}"),
        ("TCP ports that it may reach anywhere", dump({"egressPorts": list(usual.egress_ports)})),
        ("what a runner asks for and may take", dump({"resources": usual.resources})),
        ("further fields of the pods' spec, such as nodeSelector and imagePullSecrets", "pod: {}"),
    ]
    return HEAD + "".join(f"\n# {meaning}\n{block.rstrip()}\n" for meaning, block in blocks)


_NOTES = """\
Trimtab runs in {{ $.Release.Namespace }}. See it start with:

  kubectl -n {{ $.Release.Namespace }} get pods
"""


def _template(objects: list[Manifest]) -> str:
    """The objects as a template."""
    return HEAD + "---\n".join(_expressions(dump(each)) for each in objects)


def _expressions(text: str) -> str:
    return _BARE.sub(lambda found: found[1], text)


def _when(condition: str, template: str) -> str:
    return f"{{{{- if {condition} }}}}\n{template}{{{{- end }}}}\n"


def _cluster_role(install: Install) -> str:
    role, binding = cluster_roles(install)
    rules = _rules(rights.in_the_whole_cluster(), rights.everything(cluster=True))
    return _when("not $.Values.scope.namespaces", _with_rules(role, rules) + "---\n" + dump(binding))


def _roles() -> str:
    chosen: dict[str, Any] = {**_CHOSEN, "namespaces": ("{{ $namespace }}",)}
    role, binding = roles(Install(**chosen))
    rules = _rules(rights.in_one_namespace(), rights.everything(cluster=False))
    made = _with_rules(role, rules) + "---\n" + dump(binding)
    return f"{{{{- range $namespace := $.Values.scope.namespaces }}}}\n---\n{made}{{{{- end }}}}\n"


def _with_rules(role: Manifest, rules: str) -> str:
    bare = {name: value for name, value in role.items() if name != "rules"}
    return f"{HEAD}{dump(bare)}rules:\n{rules}"


def _rules(least: list[rights.Rule], everything: list[rights.Rule]) -> str:
    also = dump(rights.managing(["RESOURCE.GROUP"]))
    also = also.replace("RESOURCE", "{{ first $parts }}").replace(
        "GROUP", '{{ rest $parts | join "." | quote }}'
    )
    parts = '{{- range $.Values.also }}{{- $parts := splitList "." . }}'
    return (
        f"{{{{- if $.Values.everything }}}}\n{dump(everything)}{{{{- else }}}}\n{dump(least)}"
        f"{parts}\n{also}{{{{- end }}}}\n{{{{- end }}}}\n"
    )


def _network_policy(install: Install) -> str:
    made = network_policy(install)
    made["spec"]["egress"][1]["ports"] = "§{{- range $.Values.egressPorts }}§"
    entry = "    - port: {{ . }}\n      protocol: TCP\n    {{- end }}"
    text = _template([made]).replace("ports: {{- range", "ports:\n    {{- range")
    return text.replace(
        "{{- range $.Values.egressPorts }}", f"{{{{- range $.Values.egressPorts }}}}\n{entry}"
    )


def _deployment(install: Install) -> str:
    made = deployment(install)
    pod = made["spec"]["template"]["spec"]
    made["spec"]["replicas"] = "§{{ $.Values.replicas }}§"
    (container,) = pod["containers"]
    container["resources"] = "§{{- toYaml $.Values.resources | nindent 10 }}§"
    container["env"] = [
        each for each in container["env"] if each["name"] in {"HOME", "TRIMTAB_APPS__NAMESPACE"}
    ]
    pod["volumes"].append("§VOLUMES END§")
    container["env"].append("§SETTINGS§")
    container["args"].append("§ARGUMENTS§")
    text = _template([made])
    text = text.replace("        - SETTINGS\n", textwrap.indent(_SETTINGS, " " * 8))
    text = text.replace("        - ARGUMENTS\n", textwrap.indent(_ARGUMENTS, " " * 8))
    more = "      {{- with $.Values.pod }}\n      {{- toYaml . | nindent 6 }}\n      {{- end }}\n"
    return _settings_chosen() + text.replace("      - VOLUMES END\n", more)


_ARGUMENTS = """\
{{- range $name, $option := dict "url" "repo" "path" "path" "revision" "revision" }}
{{- with index $.Values.repo $name }}
- {{ printf "--%s=%s" $option . | quote }}
{{- end }}
{{- end }}
"""

_SETTINGS = """\
{{- range $name, $value := $settings }}
{{- if $value }}
- name: TRIMTAB_{{ $name | replace "." "__" | upper }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
"""


def _settings_chosen() -> str:
    """The settings that follow from the values, below those that were given."""
    fixed = " ".join(f'"{name}" "{value}"' for name, value in settings_of(Install()).items())
    secret = f'(printf "%s={WEBHOOK_FOLDER}/%s" . .)'
    lines = (
        "$secrets := list",
        f"range $.Values.webhooks }}}}{{{{- $secrets = append $secrets {secret} }}}}{{{{- end",
        f"$follow := dict {fixed}",
        '$_ := set $follow "runner.namespaces" (join "," $.Values.scope.namespaces)',
        '$_ := set $follow "runner.webhook_secrets" (join "," $secrets)',
        "$settings := merge (deepCopy $.Values.settings) $follow",
    )
    return "".join(f"{{{{- {line} }}}}\n" for line in lines)


# --- writing --------------------------------------------------------------------------------------------


def files() -> Mapping[str, str]:
    """Everything below deploy/ that is written, by path."""
    return {**kustomize_files(), **chart_files()}


def stale(folder: Path = DEPLOY) -> list[str]:
    """The files that are not what this would write."""
    return [
        name
        for name, text in files().items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Write what is not up to date."""
    wanted = files()
    for name in stale():
        path = DEPLOY / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[name], encoding="utf-8")
        print(f"wrote deploy/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
