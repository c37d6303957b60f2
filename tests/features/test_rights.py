"""Somebody may do some of it: what is refused is named, and nothing is half-done, on a real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.controlplane import ControlPlane
from tests.features.calling import Heard
from tests.features.conftest import Person
from tests.features.test_sync import SETTINGS, shop

pytestmark = [pytest.mark.real, pytest.mark.parametrize("person", ["real"], indirect=True)]
LEASES = "leases.coordination.k8s.io"
IDLE = ("wait", "shop", "--for", "idle", "--timeout", "0")


class Helper:
    """Somebody who may keep records, and little else."""

    def __init__(self, plane: ControlPlane, person: Person) -> None:
        self._plane, self._person = plane, person
        self._access = {"KUBECONFIG": str(plane.kubeconfig_for("nobody")), "USER": "bob"}
        records = f"{person.namespace}-records"
        self._grant(records, "edit", "--clusterrole=edit")
        plane.kubectl("create", "role", "leases", "--verb=*", f"--resource={LEASES}", "-n", records)
        self._grant(records, "leases", "--role=leases")
        plane.wait_for_right("nobody", "create", "secrets", records)
        plane.wait_for_right("nobody", "create", LEASES, records)

    def may_look(self) -> None:
        """Let them read what apps have where this person's are."""
        self._grant(self._person.namespace, "view", "--clusterrole=view")
        self._plane.wait_for_right("nobody", "list", "configmaps", self._person.namespace)

    def _grant(self, namespace: str, name: str, role: str) -> None:
        self._plane.kubectl("create", "rolebinding", name, role, "--user=nobody", "-n", namespace)

    def trimtab(self, *words: str) -> Heard:
        """Call the command."""
        return self._person.trimtab(*words, **self._access)

    def is_refused(self, *words: str, says: str) -> None:
        """Hold a refusal to the rule: one error, the last word, names the right and what to do."""
        told = self.trimtab(*words)
        lines = told.err.splitlines()
        errors = [line for line in lines if line.startswith("Error: ")]
        assert (told.code, errors) == (2, lines[-1:]), told
        assert (says in errors[0], "Ask for a role with this verb" in errors[0]) == (True, True), told
        assert self.trimtab(*IDLE).code == 0, "nothing is under way, and nobody holds the app"


@pytest.fixture
def helper(control_plane: ControlPlane, person: Person, tmp_path: Path) -> Helper:
    """They come when an app was synced twice, from blue to red."""
    folder = shop(tmp_path / "shop", settings=SETTINGS)
    assert person.trimtab("sync", str(folder), "-n", person.namespace, "--create-namespace").code == 0
    shop(folder, settings=SETTINGS.replace("blue", "red"))
    assert person.trimtab("sync", "shop").code == 0
    return Helper(control_plane, person)


def test_whoever_may_keep_records_and_write_no_objects_is_told_so_and_changes_none(
    person: Person, helper: Helper, tmp_path: Path
) -> None:
    helper.may_look()
    more = SETTINGS.replace("settings", "more")
    shop(tmp_path / "shop", settings=SETTINGS.replace("blue", "green"), more=more)
    assert person.trimtab("plan", "shop", "--out", "shop.plan").code == 0

    def standing() -> tuple[str, str]:
        """What is in the cluster, by its versions, and what was ever synced."""
        versions = "jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion}\n{end}"
        return person.kubectl("get", "configmaps", "-o", versions), person.trimtab(
            "history", "shop", "-o", "name"
        ).out

    before, cannot = standing(), 'User "nobody" cannot {} resource "configmaps"'
    helper.is_refused("sync", "shop", "--yes", says=cannot.format("patch"))
    helper.is_refused("apply", "shop.plan", "--yes", says=cannot.format("patch"))
    helper.is_refused("delete", "shop", "--yes", says=cannot.format("delete"))
    helper.is_refused("rollback", "shop", "1", "--yes", says=cannot.format("patch"))
    assert standing() == before
    held = person.trimtab("sync", "shop")
    assert (held.code, "pinned to entry 1 of its history" in held.err) == (2, True), "as whoever asked wanted"

    # Whoever may goes on with all of it.
    assert person.trimtab("resume", "shop").code == 0
    assert person.trimtab("sync", "shop").code == 0
    colour = ("-o", "jsonpath={.data.colour}")
    assert person.kubectl("get", "configmap", "settings", *colour) == "green"
    assert person.kubectl("get", "configmap", "more", *colour) == "blue"


@pytest.fixture
def writer(control_plane: ControlPlane, person: Person) -> Iterator[None]:
    """The rights to write ConfigMaps anywhere, and to make no namespace."""
    role = ("clusterrole", person.namespace, "--verb=get,list,watch,patch,create", "--resource=configmaps")
    control_plane.kubectl("create", *role)
    bound = ("clusterrolebinding", person.namespace, f"--clusterrole={person.namespace}", "--user=nobody")
    control_plane.kubectl("create", *bound)
    control_plane.wait_for_right("nobody", "patch", "configmaps", person.namespace)
    yield
    control_plane.kubectl("delete", "clusterrole,clusterrolebinding", person.namespace)


@pytest.mark.usefixtures("writer")
def test_whoever_may_make_no_namespace_is_told_so_and_makes_nothing_in_it(
    person: Person, helper: Helper, tmp_path: Path
) -> None:
    fresh = f"{person.namespace}-fresh"
    asked = (str(tmp_path / "shop"), "--app", "new", "-n", fresh, "--create-namespace", "--yes")
    helper.is_refused("sync", *asked, says=f'namespaces "{fresh}" is forbidden: User "nobody" cannot patch')
    assert f"namespace/{fresh}" not in person.kubectl("get", "namespaces", "-o", "name").split()

    assert person.trimtab("sync", *asked).code == 0
    assert helper.trimtab("status", "new", "-o", "json").json["sync"] == "Synced"
    person.kubectl("delete", "namespace", fresh, "--wait=false")


def test_whoever_may_only_look_learns_how_much_a_failed_deletion_left(helper: Helper) -> None:
    helper.may_look()
    assert helper.trimtab("delete", "shop", "--yes").code == 2
    told = helper.trimtab("why", "shop")
    words = "App shop is being deleted, and whether 1 object of it is still there is not known."
    assert (words in told.out, "0 objects" in told.out) == (True, False), told
