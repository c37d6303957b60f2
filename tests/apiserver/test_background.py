"""The embedded cluster as a process of its own: started, found, used and stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kube.world import CONFIG_MAPS, config_map
from trimtab.apiserver import background, spawning
from trimtab.apiserver.kubeconfigs import merged, without
from trimtab.errors import InvalidSpec, Missing, Unavailable
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
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable) as refused:
            background.start(tmp_path, tmp_path / "config", port=port, environment={})
    assert str(refused.value) == (
        f"port {port} of 127.0.0.1: nobody can listen there: address already in use."
        " Name another, or 0 for one that is free."
    )
    assert background.running(tmp_path) is None


def test_a_kubeconfig_that_is_none_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("[1]")
    with pytest.raises(InvalidSpec, match="it is no kubeconfig"):
        background.start(tmp_path, config, environment={})
    assert (background.running(tmp_path), config.read_text()) == (None, "[1]")


def test_what_the_machine_refuses_is_raised_as_if_it_had_been_refused_here(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError) as refused:
        background.start(tmp_path, tmp_path / "file" / "folder" / "config", environment={})
    assert refused.value.filename == str(tmp_path / "file" / "folder")


def test_a_process_that_cannot_say_why_it_ends_leaves_its_last_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    (broken / "trimtab").mkdir(parents=True)
    (broken / "trimtab" / "__init__.py").write_text("raise RuntimeError('it is broken')")
    with pytest.raises(Unavailable, match="it did not start, and could not say why"):
        background.start(tmp_path, tmp_path / "config", environment={"PYTHONPATH": str(broken)})
    assert background.running(tmp_path) is None


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


def test_a_process_that_is_told_nothing_ends_without_a_word() -> None:
    ours, its = socket.socketpair()
    ours.close()  # whoever would say something is no more
    with its:
        ended = subprocess.run(SERVER, stdin=its.fileno(), capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_a_process_whom_nobody_could_tell_anything_says_what_to_use() -> None:
    ended = subprocess.run(SERVER, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    told = b"Nobody has begun this process who could tell it what to do: use trimtab cluster up\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", told)


def test_a_process_that_was_begun_early_is_for_whoever_asks_first() -> None:
    spawning.begin_early({})
    early = spawning.begun({})
    with early:
        assert os.waitpid(early.pid, os.WNOHANG) == (0, 0)
    with pytest.raises(ChildProcessError):  # it went with the block
        os.waitpid(early.pid, 0)
    spawning.begin_early({})
    spawning.give_up_early()
    with spawning.begun({}) as later:
        assert later.pid != early.pid


def test_a_command_that_starts_nothing_leaves_no_process(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("trimtab")), "cluster", "up"]
    environment = {"HOME": str(tmp_path)}
    wrong = subprocess.run([*command, "--wrong"], env=environment, capture_output=True, check=False)
    assert (wrong.returncode, b"--wrong" in wrong.stderr) == (2, True)
    assert _served_from(tmp_path) == []
    subprocess.run(command, env=environment, capture_output=True, check=True)
    (only,) = _served_from(tmp_path)
    again = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"up already" in again.stdout
    assert _served_from(tmp_path) == [only]
    subprocess.run([*command[:2], "down"], env=environment, capture_output=True, check=True)
    assert _served_from(tmp_path) == []


def _served_from(home: Path) -> list[int]:
    """The processes of clusters that know this folder as their home."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            with suppress(OSError):
                words, surroundings = (each / "cmdline").read_bytes(), (each / "environ").read_bytes()
                if b"trimtab.apiserver" in words and f"HOME={home}\0".encode() in surroundings:
                    found.append(int(each.name))
    return found


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


SERVER = [sys.executable, "-m", "trimtab.apiserver"]
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
