"""Charts of a repository: synced by name, and moved to newer versions within their range."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.features.conftest import Person
from tests.sources.corpora import shell

TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {text: {{ .Values.text }}, version: {{ .Chart.Version }}}
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is told."""


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder that is served, and its address."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        serving.join()


def publish(shelf: Path, version: str, helm: Path) -> None:
    """Have helm pack one more version, and write the index."""
    chart = shelf.parent / "made" / "web"
    (chart / "templates").mkdir(parents=True, exist_ok=True)
    (chart / "templates" / "a.yaml").write_text(TEMPLATE)
    (chart / "values.yaml").write_text("text: hello\n")
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: web\nversion: {version}\n")
    shell("helm package made/web -d shelf && helm repo index shelf", shelf.parent, str(helm.parent))


def test_a_chart_is_synced_by_its_name_and_follows_its_range(
    person: Person, shelf: tuple[Path, str], helm: Path
) -> None:
    folder, address = shelf
    allowed = {
        "TRIMTAB_REPOSITORIES__ALLOW_HOSTS": "127.0.0.1",
        "TRIMTAB_REPOSITORIES__ALLOW_SCHEMES": "http",
    }
    publish(folder, "1.0.0", helm)
    command = ("sync", address, "--chart", "web", "--revision", "^1", "-n", person.namespace, "--yes")
    told = person.trimtab(*command, "--set", "text=hi", "--create-namespace", **allowed)
    assert told.code == 0, told.err
    assert "web is Synced and Healthy at 1.0.0" in told.out

    publish(folder, "1.1.0", helm)
    publish(folder, "2.0.0", helm)
    told = person.trimtab("sync", "web", "--yes", **allowed)
    assert told.code == 0, told.err
    assert "web is Synced and Healthy at 1.1.0" in told.out
    shown = person.kubectl("get", "configmap", "greeting", "-o", "jsonpath={.data.text} {.data.version}")
    assert shown == "hi 1.1.0"

    told = person.trimtab("plan", "web", "--revision", "3.0.0", **allowed)
    assert (told.code, told.out) == (3, "")
    assert "none of its 3 versions is 3.0.0" in told.err
