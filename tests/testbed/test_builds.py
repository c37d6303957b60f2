"""Builds: cached under what they are made of, safe in a race, whole or not there at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.builds import GO_SOURCES, PROGRAMS, RENDERERS, Builder, digest_of, linker_flags, required_version
from testbed.fixtures import missing_parts_skip
from testbed.problems import BuildFailed, PartMissing

ROOT = Path(__file__).parents[2]
# Stands in for the Go command: notes the call, writes half a program, does what the test said, completes it.
FAKE_GO = """#!/bin/sh
echo "$@" >> {folder}/calls
while [ "$1" != "-o" ]; do shift; done
printf '#!/bin/sh\\n' > "$2"
{then}
echo 'echo tool' >> "$2"
chmod +x "$2"
"""
HELLO = 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("hello") }\n'


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "go" / "hello"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text("module example.org/hello\n\ngo 1.21\n")
    (folder / "main.go").write_text(HELLO)
    return folder.parent


@pytest.fixture
def fake_go(tmp_path: Path) -> Callable[[str], str]:
    def make(then: str) -> str:
        path = tmp_path / "fake-go"
        path.write_text(FAKE_GO.format(folder=tmp_path, then=then))
        path.chmod(0o755)
        return str(path)

    return make


def calls(tmp_path: Path) -> int:
    return len((tmp_path / "calls").read_text().splitlines())


def cached(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "cache").glob("*/bin/*")]


def test_a_go_program_of_our_own_is_built_and_runs(sources: Path, tmp_path: Path) -> None:
    with missing_parts_skip():
        hello = Builder(cache=tmp_path / "cache", sources=sources).tool("hello")
    assert subprocess.run([hello], capture_output=True, text=True, check=True).stdout == "hello\n"


def test_a_second_run_builds_nothing_and_needs_no_go(
    sources: Path, tmp_path: Path, fake_go: Callable[[str], str]
) -> None:
    said: list[str] = []
    first = Builder(cache=tmp_path / "cache", sources=sources, go=fake_go(""), say=said.append).tool("hello")
    second = Builder(cache=tmp_path / "cache", sources=sources, go="/no/go", say=said.append).tool("hello")
    assert second == first
    assert [words.partition(" in ")[0] for words in said] == ["building hello", "built hello"]


def test_a_changed_source_is_another_program(
    sources: Path, tmp_path: Path, fake_go: Callable[[str], str]
) -> None:
    builder = Builder(cache=tmp_path / "cache", sources=sources, go=fake_go(""), say=print)
    before = builder.tool("hello")
    (sources / "hello" / "main.go").write_text(HELLO.replace("hello", "goodbye"))
    assert builder.tool("hello") != before


def test_without_go_the_message_says_what_to_do(sources: Path, tmp_path: Path) -> None:
    with pytest.raises(PartMissing, match=r"no `go` on PATH\. Install Go .* `python -m testbed build`"):
        Builder(cache=tmp_path / "cache", sources=sources, go="").tool("hello")


def test_two_runs_that_race_build_once_and_the_second_says_for_whom_it_waits(
    sources: Path, tmp_path: Path, fake_go: Callable[[str], str]
) -> None:
    os.mkfifo(tmp_path / "gate")
    go = fake_go(f"read _ < {tmp_path}/gate")
    building, waiting, said = threading.Event(), threading.Event(), []

    def say(line: str) -> None:
        said.append(line)
        (waiting if line.startswith("waiting") else building).set()

    def build() -> Path:
        return Builder(cache=tmp_path / "cache", sources=sources, go=go, say=say).tool("hello")

    with ThreadPoolExecutor() as runs:
        one = runs.submit(build)
        assert building.wait(30)
        other = runs.submit(build)
        assert waiting.wait(30)
        (tmp_path / "gate").write_text("go on\n")
        assert one.result() == other.result()
    assert calls(tmp_path) == 1
    assert said[1] == f"waiting for another build (hello, by process {os.getpid()}) before hello"


def test_a_killed_build_leaves_nothing_half_and_the_next_run_goes_on(
    sources: Path, tmp_path: Path, fake_go: Callable[[str], str]
) -> None:
    os.mkfifo(tmp_path / "gate")
    code = (
        "import sys; from pathlib import Path; from testbed.builds import Builder;"
        "Builder(cache=Path(sys.argv[1]), sources=Path(sys.argv[2]), go=sys.argv[3]).tool('hello')"
    )
    go = fake_go(f"echo half > {tmp_path}/gate; read _ < {tmp_path}/gate")
    arguments = [str(tmp_path / "cache"), str(sources), go]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, stderr=subprocess.DEVNULL
    ) as run:
        assert (tmp_path / "gate").read_text() == "half\n"
        run.kill()
    assert cached(tmp_path) == [".building-hello"]

    builder = Builder(cache=tmp_path / "cache", sources=sources, go=fake_go(""), say=print)
    assert subprocess.run([builder.tool("hello")], capture_output=True, check=True).stdout == b"tool\n"
    assert cached(tmp_path) == ["hello"]


def test_a_failed_build_tells_the_compilers_words_and_is_not_kept(
    sources: Path, tmp_path: Path, fake_go: Callable[[str], str]
) -> None:
    builder = Builder(
        cache=tmp_path / "cache", sources=sources, go=fake_go("echo no such module >&2; exit 1"), say=print
    )
    with pytest.raises(BuildFailed, match="no such module"):
        builder.tool("hello")
    assert not builder.tool_path("hello").exists()


def test_a_tool_without_sources_is_missing(tmp_path: Path) -> None:
    with pytest.raises(PartMissing, match="Go tool nothing"):
        Builder(cache=tmp_path, sources=tmp_path).tool("nothing")


def test_every_program_is_pinned_to_one_version() -> None:
    assert {name: Builder().version(name) for name in PROGRAMS} == {
        "kube-apiserver": "v1.36.3",
        "kube-controller-manager": "v1.36.3",
        "kube-scheduler": "v1.36.3",
        "kubectl": "v1.36.3",
        "etcd": "v3.6.16",
        "kwok": "v0.8.0",
        "kustomize": "v5.8.1",
        "helm": "v4.3.1",
        "trimtab-kustomize": "v5.8.1",
        "trimtab-helm": "v4.3.1",
    }


@pytest.mark.parametrize("name", ["helm", "kustomize"])
def test_our_own_build_of_a_tool_is_made_of_the_very_same_modules(name: str) -> None:
    theirs, ours = ((folder / name / "go.mod").read_text() for folder in (GO_SOURCES, RENDERERS))
    pinned = re.compile(r"^(?:require)?\s+(\S+ v\S+)", re.MULTILINE)
    assert {*pinned.findall(ours)} - {*pinned.findall(theirs)} == {"trimtab.dev/renderers/jobs v0.0.0"}
    assert {*pinned.findall(theirs)} <= {*pinned.findall(ours)}
    sums = [(folder / name / "go.sum").read_text() for folder in (GO_SOURCES, RENDERERS)]
    assert sums[0] == sums[1]


def test_programs_know_their_own_version(kubectl: Path, kustomize: Path, helm: Path) -> None:
    def told(*command: str | Path) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "v1.36.3" in told(kubectl, "version", "--client")
    assert told(kustomize, "version").strip() == "v5.8.1"
    assert told(helm, "version", "--short").startswith("v4.3.1")


@pytest.mark.parametrize(
    ("go_mod", "version"),
    [
        ("require example.org/a v1.2.3\n", "v1.2.3"),
        ("require (\n\texample.org/ab v9.9.9\n\texample.org/a v1.2.3 // indirect\n)\n", "v1.2.3"),
    ],
)
def test_a_version_is_read_from_go_mod(go_mod: str, version: str) -> None:
    assert required_version(go_mod, "example.org/a") == version


def test_a_module_that_nothing_pins_is_missing() -> None:
    with pytest.raises(PartMissing):
        required_version("require example.org/b v1.0.0\n", "example.org/a")


def test_stamps_carry_version_major_and_minor() -> None:
    assert linker_flags(PROGRAMS["kubectl"], "v1.36.3") == (
        "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3"
        " -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
    )


@given(st.lists(st.binary(max_size=3), max_size=4), st.lists(st.binary(max_size=3), max_size=4))
def test_digests_agree_only_for_equal_lists(one: list[bytes], other: list[bytes]) -> None:
    assert (digest_of(iter(one)) == digest_of(iter(other))) == (one == other)
