"""An app of several sources: a chart of one repository with the values of another, by one unit file."""

from __future__ import annotations

from pathlib import Path

from tests.committing import git
from tests.features.conftest import Person

TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {size: "{{ .Values.size }}"}
"""
ALLOWED = {"TRIMTAB_REPOSITORIES__ALLOW_SCHEMES": "file"}


def commit(folder: Path, **files: str) -> str:
    """A commit with these files, whose names are spelled with __ for / and _ for a dot."""
    if not folder.exists():
        folder.mkdir()
        git(folder, "init", "--initial-branch=main")
    for name, text in files.items():
        place = folder / name.replace("__", "/").replace("_", ".")
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-m", "A change")
    return git(folder, "rev-parse", "HEAD")


def test_a_chart_is_synced_with_values_of_another_repository_and_both_go_back_together(
    person: Person, tmp_path: Path
) -> None:
    values = tmp_path / "values"
    chart = commit(
        tmp_path / "chart",
        Chart_yaml="apiVersion: v2\nname: web\nversion: 1.0.0\n",
        templates__settings_yaml=TEMPLATE,
    )
    small = commit(values, live_yaml="size: small\n")
    (tmp_path / "web.yaml").write_text(f"""
sources:
- repoURL: file://{tmp_path}/chart
  targetRevision: main
  spec: {{helm: {{valueFiles: [$values/live.yaml]}}}}
- {{repoURL: "file://{values}", targetRevision: main, ref: values}}
destination: {{namespace: {person.namespace}}}
""")
    told = person.trimtab("sync", "web.yaml", "--create-namespace", **ALLOWED)
    assert told.code == 0, told.err
    assert told.out.splitlines()[-1] == f"web is Synced and Healthy at {chart},{small}"

    large = commit(values, live_yaml="size: large\n")
    told = person.trimtab("sync", "web", **ALLOWED)
    assert told.code == 0, told.err
    stands = person.trimtab("status", "web", "-o", "json", **ALLOWED).json
    assert stands["revision"] == f"{chart},{large}"
    assert [(each["ref"], each["revision"]) for each in stands["sources"]] == [("", chart), ("values", large)]

    # Somebody else, elsewhere, while Git is down: he has neither the files nor what they were rendered to.
    values.rename(tmp_path / "away")
    elsewhere = {"HOME": str(tmp_path / "elsewhere"), "USER": "bob", **ALLOWED}
    back = person.trimtab("rollback", "web", **elsewhere)
    assert back.code == 0, back.err
    assert f"pinned to entry 1 of its history ({chart},{small})" in back.out
    assert person.kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.size}") == "small"

    (tmp_path / "web.yaml").write_text("sources: [{folder: a, spec: {helm: {valueFiles: [$b/c]}}}]\n")
    told = person.trimtab("plan", "web.yaml", **ALLOWED)
    reason = "its source names a file of $b, and no source has this ref. Add it, or mend the name."
    assert (told.code, told.err.strip()) == (2, f"Error: unit file web.yaml: {reason}")
