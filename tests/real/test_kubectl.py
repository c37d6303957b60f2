"""kubectl against the embedded cluster, and the same against a real server."""

from __future__ import annotations

import json
import re
import secrets
from pathlib import Path

import pytest
import yaml

from tests.real.conftest import Kubectl, Server
from tests.real.manifests import BOTH, COLOURS, WEB, container, definition, widget

NEWER = WEB.replace("web:1.0", "web:2.0")
NEW_CONTAINER = '{"name":"web","image":"new:1","ports":[{"name":"http","containerPort":8080}]}'


# -- applying ---------------------------------------------------------------------------------------------


def test_applying_creates_then_changes_nothing_then_only_what_is_new(ctl: Kubectl) -> None:
    first, again = (ctl("apply", "-f", "-", stdin=BOTH) for _ in range(2))
    changed = ctl("apply", "-f", "-", stdin=BOTH.replace("web:1.0", "web:2.0"))
    assert [first, again, changed] == [
        "deployment.apps/web created\nconfigmap/colours created\n",
        "deployment.apps/web unchanged\nconfigmap/colours unchanged\n",
        "deployment.apps/web configured\nconfigmap/colours unchanged\n",
    ]
    live = ctl.read("deployment", "web")
    assert (container(live)["image"], live["metadata"]["generation"]) == ("registry.example/web:2.0", 2)


def test_applying_removes_what_was_applied_before_and_is_not_any_more(ctl: Kubectl) -> None:
    ctl("apply", "-f", "-", stdin=COLOURS.replace("{sky: blue}", "{sky: blue, grass: green}"))
    ctl("patch", "configmap", "colours", "--type=merge", "-p", '{"data":{"snow":"white"}}')
    ctl("apply", "-f", "-", stdin=COLOURS)
    assert ctl.read("configmap", "colours")["data"] == {"sky": "blue", "snow": "white"}


def test_applying_on_the_server_changes_nothing_the_second_time(ctl: Kubectl) -> None:
    said = {ctl("apply", "--server-side", "-f", "-", stdin=BOTH) for _ in range(2)}
    assert said == {"deployment.apps/web serverside-applied\nconfigmap/colours serverside-applied\n"}
    assert ctl.read("deployment", "web")["metadata"]["generation"] == 1


def test_applying_on_the_server_tells_who_else_owns_a_field_and_takes_it_by_force(ctl: Kubectl) -> None:
    ctl("apply", "--server-side", "--field-manager=painter", "-f", "-", stdin=COLOURS)
    grey = COLOURS.replace("blue", "grey")
    refused = ctl("apply", "--server-side", "-f", "-", stdin=grey, code=1)
    assert 'Apply failed with 1 conflict: conflict with "painter": .data.sky' in refused
    ctl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=grey)
    live = yaml.safe_load(ctl("get", "configmap", "colours", "-o", "yaml", "--show-managed-fields"))
    owned = {each["manager"]: each["fieldsV1"] for each in live["metadata"]["managedFields"]}
    assert owned == {"kubectl": {"f:data": {"f:sky": {}}}}


def test_what_was_applied_from_the_client_is_handed_over_to_the_server(ctl: Kubectl) -> None:
    ctl("apply", "-f", "-", stdin=WEB)
    ctl("apply", "--server-side", "-f", "-", stdin=WEB.replace("  replicas: 2\n", ""))
    live = yaml.safe_load(ctl("get", "deployment", "web", "-o", "yaml", "--show-managed-fields"))
    owners = [(each["manager"], each["operation"]) for each in live["metadata"]["managedFields"]]
    assert owners == [("kubectl-last-applied", "Apply"), ("kubectl", "Apply")]
    assert live["spec"]["replicas"] == 1, "nobody asks for two any more"


def test_a_dry_run_on_the_server_shows_the_outcome_and_leaves_nothing(ctl: Kubectl) -> None:
    shown = yaml.safe_load(ctl("apply", "--dry-run=server", "-o", "yaml", "-f", "-", stdin=WEB))
    assert shown["spec"]["strategy"]["type"] == "RollingUpdate"
    assert "not found" in ctl("get", "deployment", "web", code=1)


def test_an_object_of_a_kind_that_does_not_exist_is_refused(ctl: Kubectl) -> None:
    refused = ctl("apply", "-f", "-", stdin=COLOURS.replace("v1\n", "v9\n"), code=1)
    assert 'no matches for kind "ConfigMap" in version "v9"' in refused


def test_a_field_that_does_not_exist_is_refused(ctl: Kubectl) -> None:
    refused = ctl("apply", "-f", "-", stdin=WEB.replace("replicas", "replicaz"), code=1)
    assert 'strict decoding error: unknown field "spec.replicaz"' in refused


def test_a_value_that_is_not_allowed_is_refused_with_its_path(ctl: Kubectl) -> None:
    refused = ctl(
        "apply", "-f", "-", stdin=WEB.replace("containerPort: 8080", "containerPort: 80800"), code=1
    )
    told = (
        'The Deployment "web" is invalid: spec.template.spec.containers[0].ports[0].containerPort: '
        "Invalid value: 80800: must be between 1 and 65535, inclusive\n"
    )
    assert refused == told


def test_a_kustomization_is_built_and_applied(ctl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    kustomization = {
        "resources": ["web.yaml"],
        "namePrefix": "big-",
        "images": [{"name": "registry.example/web", "newTag": "3.0"}],
        "configMapGenerator": [
            {"name": "colours", "literals": ["sky=blue"], "options": {"disableNameSuffixHash": True}}
        ],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    said = ctl("apply", "-k", str(tmp_path))
    assert said == "configmap/big-colours created\ndeployment.apps/big-web created\n"
    assert container(ctl.read("deployment", "big-web"))["image"] == "registry.example/web:3.0"


def test_pruning_removes_what_is_no_longer_in_the_set(ctl: Kubectl) -> None:
    labelled = [COLOURS.replace("{name: colours}", f"{{name: {name}, labels: {{set: a}}}}") for name in "ab"]
    ctl("apply", "-f", "-", stdin="---\n".join(labelled))
    kinds = ("--prune", "-l", "set=a", "--prune-allowlist=core/v1/ConfigMap")
    assert "configmap/b pruned" in ctl("apply", "-f", "-", *kinds, stdin=labelled[0])


# -- looking ----------------------------------------------------------------------------------------------


def test_a_diff_shows_what_applying_would_change(ctl: Kubectl) -> None:
    ctl("apply", "-f", "-", stdin=WEB)
    assert ctl("diff", "-f", "-", stdin=WEB) == ""
    lines = ctl("diff", "-f", "-", stdin=NEWER, code=1).splitlines()
    assert [line.strip("+- ") for line in lines if re.match(r"[+-] ", line)] == [
        "generation: 1",
        "generation: 2",
        "image: registry.example/web:1.0",
        "image: registry.example/web:2.0",
    ]
    assert ctl("diff", "--server-side", "--force-conflicts", "-f", "-", stdin=NEWER, code=1)


def test_an_object_is_shown_as_yaml_json_and_by_name(ctl: Kubectl) -> None:
    ctl("create", "-f", "-", stdin=COLOURS)
    shown = ctl("get", "configmap", "colours", "-o", "json")
    live = json.loads(shown)
    assert yaml.safe_load(ctl("get", "configmap", "colours", "-o", "yaml")) == live
    assert {**live, "metadata": sorted(live["metadata"])} == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"],
        "data": {"sky": "blue"},
    }
    assert ctl("get", "configmaps", "-o", "name", "--field-selector=metadata.name=colours") == (
        "configmap/colours\n"
    )


def test_a_workload_has_every_default_filled_in(ctl: Kubectl) -> None:
    ctl("create", "-f", "-", stdin=WEB)
    live = ctl.read("deployment", "web")
    sent = yaml.safe_load(WEB)["spec"]
    pod = {
        "containers": [
            {
                "name": "web",
                "image": "registry.example/web:1.0",
                "imagePullPolicy": "IfNotPresent",
                "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }
    assert live["spec"] == {
        **sent,
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
        },
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
    }


def test_objects_are_chosen_by_labels(ctl: Kubectl) -> None:
    for name, tier in (("a", "front"), ("b", "back"), ("c", "back")):
        ctl("create", "configmap", name)
        ctl("label", "configmap", name, f"tier={tier}")
    assert ctl("get", "configmaps", "-o", "name", "-l", "tier in (back), tier!=front").split() == [
        "configmap/b",
        "configmap/c",
    ]


def test_pages_make_one_list(ctl: Kubectl) -> None:
    names = [f"colours-{number}" for number in range(7)]
    ctl("create", "-f", "-", stdin="---\n".join(COLOURS.replace("colours", name) for name in names))
    shown = ctl("get", "configmaps", "-o", "name", "--chunk-size=3").split()
    assert [f"configmap/{name}" for name in names] == shown


def test_an_unknown_kind_and_an_unknown_name_are_told_apart(ctl: Kubectl) -> None:
    assert ctl("get", "unicorns", code=1) == 'error: the server doesn\'t have a resource type "unicorns"\n'
    assert ctl("get", "deployment", "nowhere", code=1) == (
        'Error from server (NotFound): deployments.apps "nowhere" not found\n'
    )


def test_fields_are_explained(ctl: Kubectl) -> None:
    told = ctl("explain", "deployment.spec.strategy.rollingUpdate.maxSurge")
    assert told.startswith("GROUP:      apps\nKIND:       Deployment\nVERSION:    v1\n")
    assert "FIELD: maxSurge <IntOrString>" in told
    assert "The maximum number of pods that can be scheduled above the desired number" in told


def test_the_server_says_who_it_is_and_what_it_serves(ctl: Kubectl) -> None:
    versions = json.loads(ctl("version", "-o", "json"))
    assert versions["serverVersion"]["gitVersion"] == versions["clientVersion"]["gitVersion"]
    assert {"v1", "apps/v1", "batch/v1"} <= {*ctl("api-versions").split()}
    kinds = {*ctl("api-resources", "--namespaced=false", "--verbs=watch", "-o", "name").split()}
    assert {"namespaces", "customresourcedefinitions.apiextensions.k8s.io"} <= kinds
    assert "pods" not in kinds


def test_somebody_may_do_everything(ctl: Kubectl) -> None:
    assert ctl("auth", "can-i", "create", "deployments") == "yes\n"


# -- changing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"new:1"}]}}}}'),
        ("merge", f'{{"spec":{{"template":{{"spec":{{"containers":[{NEW_CONTAINER}]}}}}}}}}'),
        ("json", '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"new:1"}]'),
    ],
)
def test_a_patch_of_each_type_changes_the_image_and_nothing_else(ctl: Kubectl, kind: str, patch: str) -> None:
    ctl("create", "-f", "-", stdin=WEB)
    before = ctl.read("deployment", "web")
    assert ctl("patch", "deployment", "web", f"--type={kind}", "-p", patch) == "deployment.apps/web patched\n"
    after = ctl.read("deployment", "web")
    container(before)["image"] = "new:1"
    assert after["spec"] == before["spec"]


def test_the_status_is_patched_apart_from_the_rest(ctl: Kubectl) -> None:
    ctl("create", "-f", "-", stdin=WEB)
    patch = '{"spec":{"replicas":9},"status":{"replicas":2,"observedGeneration":1}}'
    ctl("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", patch)
    live = ctl.read("deployment", "web")
    assert (live["spec"]["replicas"], live["status"]) == (2, {"replicas": 2, "observedGeneration": 1})
    assert live["metadata"]["generation"] == 1


def test_labels_and_annotations_come_change_and_go(ctl: Kubectl) -> None:
    ctl("create", "-f", "-", stdin=COLOURS)
    ctl("label", "configmap", "colours", "tier=front")
    ctl("annotate", "configmap", "colours", "note=first")
    assert "already has a value" in ctl("label", "configmap", "colours", "tier=back", code=1)
    ctl("label", "configmap", "colours", "tier=back", "--overwrite")
    ctl("annotate", "configmap", "colours", "note-")
    metadata = ctl.read("configmap", "colours")["metadata"]
    assert (metadata["labels"], "annotations" in metadata) == ({"tier": "back"}, False)


def test_a_workload_is_scaled_if_it_has_the_expected_size(ctl: Kubectl) -> None:
    ctl("create", "-f", "-", stdin=WEB)
    assert ctl("scale", "deployment/web", "--replicas=5") == "deployment.apps/web scaled\n"
    refused = ctl("scale", "deployment/web", "--current-replicas=2", "--replicas=7", code=1)
    assert "Expected replicas to be 2, was 5" in refused
    assert ctl.read("deployment", "web")["spec"]["replicas"] == 5


def test_replacing_needs_the_object_and_creating_needs_that_there_is_none(ctl: Kubectl) -> None:
    assert "NotFound" in ctl("replace", "-f", "-", stdin=COLOURS, code=1)
    ctl("create", "-f", "-", stdin=COLOURS)
    assert 'configmaps "colours" already exists' in ctl("create", "-f", "-", stdin=COLOURS, code=1)
    ctl("replace", "-f", "-", stdin=COLOURS.replace("sky", "sea"))
    assert ctl.read("configmap", "colours")["data"] == {"sea": "blue"}


def test_an_image_is_set_and_a_restart_is_asked_for(ctl: Kubectl) -> None:
    ctl("create", "-f", "-", stdin=WEB)
    ctl("set", "image", "deployment/web", "web=new")
    ctl("set", "env", "deployment/web", "MODE=fast")
    ctl("rollout", "restart", "deployment/web")
    live = ctl.read("deployment", "web")
    assert (container(live)["image"], container(live)["env"]) == ("new", [{"name": "MODE", "value": "fast"}])
    assert "kubectl.kubernetes.io/restartedAt" in live["spec"]["template"]["metadata"]["annotations"]


CREATIONS = {
    "configmap": ("a", "--from-literal=sky=blue"),
    "secret": ("generic", "a", "--from-literal=password=canary"),
    "deployment": ("a", "--image=web", "--replicas=3", "--port=8080"),
    "job": ("a", "--image=web", "--", "true"),
    "cronjob": ("a", "--image=web", "--schedule=5 4 * * *"),
    "service": ("clusterip", "a", "--tcp=80:web"),
    "serviceaccount": ("a",),
    "ingress": ("a", "--rule=shop.example/*=web:80"),
    "role": ("a", "--verb=get,list", "--resource=pods"),
    "rolebinding": ("a", "--role=a", "--user=dave"),
    "quota": ("a", "--hard=cpu=1500m,pods=3"),
    "poddisruptionbudget": ("a", "--selector=app=web", "--min-available=50%"),
}


@pytest.mark.parametrize("kind", CREATIONS)
def test_kubectl_makes_objects_of_its_own(ctl: Kubectl, kind: str) -> None:
    """These travel as protocol buffers."""
    assert ctl("create", kind, *CREATIONS[kind]).endswith("/a created\n")
    name = {"quota": "resourcequota"}.get(kind, kind)
    assert ctl.read(name, "a")["metadata"]["name"] == "a"


# -- waiting and deleting ---------------------------------------------------------------------------------


def test_waiting_ends_when_the_condition_is_met_or_the_time_is_over(ctl: Kubectl) -> None:
    ctl("create", "-f", "-", stdin=WEB)
    met = ctl("wait", "deployment/web", "--for=jsonpath={.spec.replicas}=2", "--timeout=60s")
    assert met == "deployment.apps/web condition met\n"
    late = ctl("wait", "deployment/web", "--for=condition=Nonsense", "--timeout=1s", code=1)
    assert "timed out waiting for the condition on deployments/web" in late


def test_a_deleted_object_is_gone(ctl: Kubectl) -> None:
    ctl("apply", "-f", "-", stdin=BOTH)
    said = ctl("delete", "-f", "-", "--wait", stdin=BOTH)
    assert [line.split(" from ")[0] for line in said.splitlines()] == [
        'deployment.apps "web" deleted',
        'configmap "colours" deleted',
    ]
    assert ctl("get", "deployments,configmaps", "-o", "name", "--ignore-not-found", "-l", "app=web") == ""
    assert "NotFound" in ctl("delete", "configmap", "colours", code=1)
    assert ctl("delete", "configmap", "colours", "--ignore-not-found") == ""


def test_a_finalizer_keeps_an_object_until_it_is_taken_away(ctl: Kubectl) -> None:
    held = COLOURS.replace("{name: colours}", "{name: colours, finalizers: [example.com/hold]}")
    ctl("create", "-f", "-", stdin=held)
    ctl("delete", "configmap", "colours", "--wait=false")
    assert "deletionTimestamp" in ctl.read("configmap", "colours")["metadata"]
    ctl(
        "patch",
        "configmap",
        "colours",
        "--type=json",
        "-p",
        '[{"op":"remove","path":"/metadata/finalizers"}]',
    )
    assert ctl("wait", "configmap/colours", "--for=delete", "--timeout=60s") == ""


def test_a_selection_is_deleted(ctl: Kubectl) -> None:
    for name in ("a", "b", "c"):
        ctl("create", "configmap", name)
    ctl("label", "configmap", "a", "b", "tier=old")
    ctl("delete", "configmaps", "-l", "tier=old")
    left = ctl("get", "configmaps", "-o", "name", "--field-selector=metadata.name!=kube-root-ca.crt")
    assert left == "configmap/c\n"


# -- kinds of one's own -----------------------------------------------------------------------------------


@pytest.fixture
def group(ctl: Kubectl) -> str:
    """A group in which Widgets are served."""
    name = f"{secrets.token_hex(4)}.example.com"
    ctl("apply", "-f", "-", stdin=definition(name))
    ctl.until_served(name)
    return name


def test_objects_of_a_new_kind_are_defaulted_explained_scaled_and_deleted(ctl: Kubectl, group: str) -> None:
    ctl("apply", "-f", "-", stdin=widget(group, colour="blue"))
    ctl("apply", "--server-side", "-f", "-", stdin=widget(group, colour="blue"))
    assert ctl.read(f"widgets.{group}", "w")["spec"] == {"colour": "blue", "size": 3}
    assert "How it looks." in ctl("explain", "widgets.spec.colour", f"--api-version={group}/v1")
    ctl("scale", f"widgets.{group}/w", "--replicas=5")
    assert ctl.read(f"widgets.{group}", "w")["spec"]["size"] == 5
    ctl("delete", "crd", f"widgets.{group}")
    ctl.until_forgotten(group)
    assert "doesn't have a resource type" in ctl("get", f"widgets.{group}", code=1)


def test_objects_of_a_new_kind_are_held_to_their_schema(ctl: Kubectl, group: str) -> None:
    refused = ctl("apply", "-f", "-", stdin=widget(group, colour="green", size=0), code=1)
    title, *causes = refused.splitlines()
    assert title == 'The Widget "w" is invalid: '
    assert sorted(causes) == [  # the real server tells them in any order
        '* spec.colour: Unsupported value: "green": supported values: "blue", "red"',
        "* spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
    ]


# -- both at once -----------------------------------------------------------------------------------------

SAME = [
    ("api-versions",),
    ("api-resources", "-o", "wide", "--sort-by=name"),
    ("explain", "pods", "--recursive"),
    ("explain", "deployment.spec.template.spec.containers.livenessProbe"),
    ("explain", "service.spec.type"),
    ("explain", "crd.spec.versions.schema.openAPIV3Schema"),
    ("explain", "hpa", "--api-version=autoscaling/v1"),
    ("get", "namespaces", "-o", "name", "--field-selector=metadata.name=default"),
]


@pytest.mark.real
@pytest.mark.parametrize("command", SAME, ids=" ".join)
def test_kubectl_prints_the_same_for_both_servers(
    kubectl: Path, embedded: Server, api_server: Server, command: tuple[str, ...]
) -> None:
    ours, theirs = (Kubectl(kubectl, server, "default")(*command) for server in (embedded, api_server))
    assert without_custom(ours) == without_custom(theirs)


def without_custom(said: str) -> list[str]:
    """The lines that speak of no test's own kinds and of no address."""
    return [line for line in said.splitlines() if ".example.com" not in line and "127.0.0.1" not in line]
