"""The embedded cluster as a process of its own: started, found, used and stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kube.world import CONFIG_MAPS, config_map
from trimtab.apiserver import background
from trimtab.apiserver.kubeconfigs import merged, without
from trimtab.errors import Missing, Unavailable
from trimtab.interfaces.cli.entry import BROKEN_PIPE
from trimtab.kube import connect, from_kubeconfig
from trimtab.resources.yaml import dump, load
from trimtab.settings import ClusterSettings
from trimtab.tasks.clock import SystemClock


async def test_a_cluster_is_started_found_used_and_stopped(tmp_path: Path) -> None:
    config = tmp_path / background.KUBECONFIG
    state = background.start(tmp_path, config, environment={})
    try:
        assert background.running(tmp_path) == state
        assert config.stat().st_mode & 0o777 == 0o600
        access = from_kubeconfig([config], settings=ClusterSettings(), clock=SystemClock(), environment={})
        async with connect(access) as cluster:
            await cluster.create(CONFIG_MAPS, config_map("a"), namespace="default")
            assert (await cluster.get(CONFIG_MAPS, "a", namespace="default")).metadata.name == "a"
    finally:
        background.stop(tmp_path)
    assert background.running(tmp_path) is None
    assert not config.exists()
    with pytest.raises(Missing):
        background.stop(tmp_path)


def test_a_kubeconfig_that_is_there_gains_a_context_and_loses_it_again(tmp_path: Path) -> None:
    path = tmp_path / "config"
    before = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "home", "cluster": {"server": "https://home.example"}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "contexts": [{"name": "home", "context": {"cluster": "home", "user": "me"}}],
        "current-context": "home",
    }
    path.write_text(dump(before))
    background.start(tmp_path, path, environment={})
    try:
        config = load(path.read_bytes(), "config")
        assert [each["name"] for each in config["contexts"]] == ["home", "trimtab"]
        assert config["current-context"] == "trimtab"
    finally:
        background.stop(tmp_path)
    assert load(path.read_bytes(), "config") == {**before, "current-context": ""}


def test_a_dead_cluster_does_not_count(tmp_path: Path) -> None:
    assert background.running(tmp_path) is None
    state = background.State(pid=1, born="never", url="u", kubeconfig="k", since="s")
    (tmp_path / background.STATE).write_text(json.dumps({**_fields(state)}))
    assert background.running(tmp_path) is None
    (tmp_path / background.STATE).write_text("{cut")
    assert background.running(tmp_path) is None


def _fields(state: background.State) -> dict[str, object]:
    return {name: getattr(state, name) for name in state.__struct_fields__}


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(Unavailable, match=r"did not start: (?!Error)"):
            background.start(tmp_path, tmp_path / "config", port=taken.getsockname()[1], environment={})


def test_two_who_start_at_once_get_the_same_cluster(tmp_path: Path) -> None:
    def start(_number: int) -> background.State:
        return background.start(tmp_path, tmp_path / background.KUBECONFIG, environment={})

    with ThreadPoolExecutor(2) as both:
        first, second = both.map(start, range(2))
    background.stop(tmp_path)
    assert first == second


def test_a_cluster_whose_starter_was_killed_ends_and_the_next_one_is_the_only_one(tmp_path: Path) -> None:
    log, config = tmp_path / background.LOG, tmp_path / "config"
    # Somebody else died before while writing; no process has that number.
    left = [tmp_path / f".{name}.{2**22 + 1}" for name in (background.STATE, "config")]
    others = [tmp_path / ".config.mine", tmp_path / f".config.{os.getppid()}"]
    for each in (*left, *others):
        each.touch()
    os.mkfifo(log)  # whoever starts a cluster waits here until we look
    starter = subprocess.Popen([sys.executable, "-c", START, str(tmp_path), str(config)])
    with log.open() as words:
        starter.send_signal(signal.SIGKILL)
        starter.wait()
        log.unlink()
        state = background.start(tmp_path, config, environment={})
        words.read()  # ends with the process that wrote
    assert background.running(tmp_path) == state
    assert state.url in config.read_text()
    background.stop(tmp_path)
    assert load(config.read_bytes(), "config")["contexts"] == []
    assert [each.exists() for each in (*left, *others)] == [False, False, True, True]


def test_a_process_that_is_handed_no_certificate_ends_without_a_word(tmp_path: Path) -> None:
    told, tell = os.pipe()
    words = [sys.executable, "-m", "trimtab", "cluster", "up", "--foreground", "--state", str(tmp_path)]
    ended = subprocess.run(
        [*words, "--kubeconfig", str(tmp_path / "config"), f"--ready={tell}"],
        pass_fds=[tell],
        stdin=subprocess.DEVNULL,  # whoever would write to it is no more
        capture_output=True,
        check=False,
    )
    os.close(tell)
    os.close(told)
    assert (ended.returncode, ended.stdout, ended.stderr) == (BROKEN_PIPE, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_loads_nothing_that_it_may_never_need(tmp_path: Path) -> None:
    state = background.start(tmp_path, tmp_path / background.KUBECONFIG, environment={})
    loaded = Path(f"/proc/{state.pid}/maps").read_text()
    background.stop(tmp_path)
    assert "aiohttp" in loaded
    assert "cryptography" not in loaded, "its certificate was made by whoever started it"
    assert "_yaml" not in loaded


def test_a_cluster_on_a_leash_ends_with_whoever_holds_it(tmp_path: Path) -> None:
    leash, held = os.pipe()
    state = background.start(tmp_path, tmp_path / background.KUBECONFIG, environment={}, leash=leash)
    handle = os.pidfd_open(state.pid)
    os.close(held)
    os.waitid(os.P_PIDFD, handle, os.WEXITED)
    os.close(handle)
    os.close(leash)
    assert background.running(tmp_path) is None
    assert not (tmp_path / background.KUBECONFIG).exists()


START = """
import sys
from pathlib import Path
from trimtab.apiserver import background
background.start(Path(sys.argv[1]), Path(sys.argv[2]), environment={})
"""
OWN = {
    "clusters": [{"name": "t", "cluster": {"server": "u"}}],
    "users": [{"name": "t", "user": {}}],
    "contexts": [{"name": "t", "context": {}}],
    "current-context": "t",
}


def test_our_entry_replaces_an_older_one() -> None:
    older = {"clusters": [{"name": "t", "cluster": {"server": "old"}}, {"name": "x"}]}
    found = merged(older, OWN)
    assert found["clusters"] == [{"name": "x"}, *OWN["clusters"]]


def test_an_entry_that_is_not_ours_stays() -> None:
    config = merged({}, OWN)
    assert without(config, "t", "another address") == config
    assert without(config, "t", "u")["contexts"] == []
