"""Credential plugins are really run: one at a time, only when needed, with what they need and no more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from testbed.plugins import plugin_script
from trimtab.errors import Missing, Unavailable
from trimtab.kube.auth.kubeconfig import ClusterEntry, Named, PluginEntry, PluginVariable
from trimtab.kube.auth.plugin import Plugin, PluginCall, run_plugin
from trimtab.kube.auth.redaction import Secret
from trimtab.tasks.clock import ManualClock

V1 = "client.authentication.k8s.io/v1"


def token_answer(token: str, expires: str | None = None) -> str:
    status = {"token": token, "expirationTimestamp": expires}
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status})


class Answer(Struct, frozen=True, kw_only=True):
    """How a plugin ended and what it printed."""

    code: int
    stdout: bytes
    stderr: bytes


class HeldRun:
    """Stands in for running a program: ends when the test says so, and counts."""

    def __init__(self) -> None:
        self.started = 0
        self.end = asyncio.Event()
        self.ended = Answer(code=0, stdout=token_answer("t").encode(), stderr=b"")

    async def __call__(
        self, argv: Sequence[str], *, environment: Mapping[str, str], wall: timedelta
    ) -> Answer:
        assert argv
        assert environment
        assert wall
        self.started += 1
        await self.end.wait()
        return self.ended


def call(command: Path | str, **entry: object) -> PluginCall:
    plugin = PluginEntry(api_version=V1, interactive_mode="Never", command=str(command))
    return PluginCall(
        subject='kubeconfig /c, user "alice"',
        entry=replace(plugin, **entry),
        cluster=Named(subject="c", entry=ClusterEntry(server="https://c")),
        environment={"PATH": "/usr/bin:/bin", "HOME": "/home/alice"},
        timeout=timedelta(seconds=30),
    )


def real(plugin: PluginCall, clock: ManualClock | None = None) -> Plugin:
    return Plugin(plugin, run=run_plugin, clock=clock or ManualClock(), authority=lambda: None)


def held(tmp_path: Path) -> tuple[Plugin, HeldRun]:
    run = HeldRun()
    script = plugin_script(tmp_path / "login", "exit 1")
    return Plugin(call(script), run=run, clock=ManualClock(), authority=lambda: None), run


async def test_a_plugin_that_prints_without_end_is_stopped_and_told_to_say_less(tmp_path: Path) -> None:
    script = plugin_script(tmp_path / "login", "exec cat /dev/zero")
    with pytest.raises(Unavailable, match=r"of output; the limit is 1\.0 MiB") as caught:
        await real(call(script)).current()
    assert caught.value.remedy.endswith("have it say less")


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_plugin_gets_its_arguments_its_variables_ours_and_the_cluster(tmp_path: Path) -> None:
    script = plugin_script(
        tmp_path / "login",
        'printf "%s\\n" "$@" "$PROFILE" "$HOME" "$KUBERNETES_EXEC_INFO" > "$OUT"; cat >> "$OUT"',
        f"echo '{token_answer('t')}'",
    )
    out = tmp_path / "out"
    env = (
        PluginVariable(name="PROFILE", value=Secret("prod")),
        PluginVariable(name="OUT", value=Secret(str(out))),
    )
    plugin = real(call(script, args=(Secret("get"), Secret("a b")), env=env, provide_cluster_info=True))
    given = await plugin.current()
    assert given.token == Secret("t")
    *words, told = out.read_text().splitlines()
    assert words == ["get", "a b", "prod", "/home/alice"]
    assert json.loads(told)["spec"] == {"interactive": False, "cluster": {"server": "https://c"}}


async def test_a_plugin_is_found_on_the_path_it_is_given(tmp_path: Path) -> None:
    plugin_script(tmp_path / "login", f"echo '{token_answer('t')}'")
    plugin = replace(call("login"), environment={"PATH": f"/nowhere:{tmp_path}"})
    assert (await real(plugin).current()).token == Secret("t")


@pytest.mark.parametrize("path", ["", ".", "/nowhere"])
async def test_a_plugin_is_not_taken_from_the_working_directory(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin_script(tmp_path / "login", f"echo '{token_answer('t')}'")
    monkeypatch.chdir(tmp_path)
    plugin = replace(call("login"), environment={"PATH": path})
    with pytest.raises(Missing, match='its exec plugin "login" is not installed, or may not be run'):
        await real(plugin).current()


async def test_a_credential_is_kept_until_shortly_before_it_expires(tmp_path: Path) -> None:
    counter = tmp_path / "runs"
    script = plugin_script(
        tmp_path / "login",
        f"echo run >> {counter}",
        f"echo '{token_answer('t', '2026-01-01T01:00:00Z')}'",
    )
    clock = ManualClock()
    plugin = real(call(script), clock)
    for moment, runs in ((0, 1), (3569, 1), (3570, 2)):
        await clock.advance(moment - clock.monotonic())
        await plugin.current()
        assert counter.read_text().count("run") == runs


async def test_a_forgotten_credential_is_asked_for_again(tmp_path: Path) -> None:
    plugin, run = held(tmp_path)
    run.end.set()
    await plugin.current()
    await plugin.current()
    assert run.started == 1
    plugin.forget()
    assert plugin.known() is None
    await plugin.current()
    assert run.started == 2


async def test_callers_who_come_together_share_one_run(tmp_path: Path) -> None:
    plugin, run = held(tmp_path)
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(plugin.current()) for _ in range(20)]
        await turns()
        assert run.started == 1
        run.end.set()
    assert {caller.result().token for caller in callers} == {Secret("t")}
    assert run.started == 1


async def test_callers_who_come_together_share_one_failure(tmp_path: Path) -> None:
    plugin, run = held(tmp_path)
    run.ended = Answer(code=1, stdout=b"", stderr=b"no session")

    async def outcome() -> str:
        with pytest.raises(Unavailable) as caught:
            await plugin.current()
        return str(caught.value)

    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(outcome()) for _ in range(5)]
        await turns()
        run.end.set()
    assert run.started == 1
    assert len({caller.result() for caller in callers}) == 1


@pytest.mark.parametrize("leaver", [0, 1])
async def test_a_caller_who_gives_up_does_not_take_the_outcome_from_the_others(
    leaver: int, tmp_path: Path
) -> None:
    plugin, run = held(tmp_path)
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(plugin.current()) for _ in range(3)]
        await turns()
        callers[leaver].cancel()
        await turns()
        run.end.set()
    assert [caller.cancelled() for caller in callers] == [number == leaver for number in range(3)]
    assert run.started == (2 if leaver == 0 else 1)


async def test_a_call_does_not_print_its_environment() -> None:
    assert "/home/alice" not in repr(call("login"))
