"""Real programs, run to their end or stopped; each with the walls of this machine and without namespaces."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from trimtab.errors import InvalidSpec, Missing, NotAllowed, TrimtabError, Unavailable
from trimtab.programs import Finished, Launches, Limits, ProgramStopped, Walls, run, walls
from trimtab.programs.handover import Namespaces
from trimtab.programs.launch import descendants
from trimtab.programs.limits import MIB, Limit
from trimtab.programs.running import GRACE
from trimtab.tasks.clock import ManualClock

from .conftest import Wire

ROOT = Path(__file__).parents[2]
USUAL = Limits()
TOOLS = {"PATH": "/usr/bin:/bin"}
UNPRIVILEGED = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    # The interpreter of the tests may live in a folder that only root may enter.
    *("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"),
)


#: what the test at hand starts programs with
LAUNCHES: list[Launches] = []


@pytest.fixture(params=["auto", "never", "forked"])
async def namespaces(request: pytest.FixtureRequest) -> AsyncIterator[Namespaces]:
    """With walls, without them, and with launchers that are forked instead of started."""
    if request.param != "forked":
        yield "auto" if request.param == "auto" else "never"
        return
    async with Launches() as launches:
        LAUNCHES.append(launches)
        yield "auto"
        LAUNCHES.clear()


@pytest.fixture(autouse=True)
def family_before() -> Iterator[set[int]]:
    """The processes that were there before the test; no other may be left after it, nor any open file."""
    files, family = open_files(), set(descendants(os.getpid()))
    yield family
    assert set(descendants(os.getpid())) <= family
    assert open_files() == files


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def sh(script: str, *, limits: Limits = USUAL, namespaces: Namespaces = "auto") -> Finished:
    argv, server = ["/bin/sh", "-c", script], LAUNCHES[0] if LAUNCHES else None
    return await run(argv, limits=limits, environment=TOOLS, namespaces=namespaces, launches=server)


async def stopped(script: str, limits: Limits, namespaces: Namespaces) -> ProgramStopped:
    with pytest.raises(ProgramStopped) as caught:
        await sh(script, limits=limits, namespaces=namespaces)
    return caught.value


# --- what a program gets and gives -----------------------------------------------------------------------


async def test_output_errors_and_exit_code_come_back(namespaces: Namespaces) -> None:
    finished = await sh("echo out; echo err >&2; exit 7", namespaces=namespaces)
    assert (finished.stdout, finished.stderr, finished.code) == (b"out\n", b"err\n", 7)
    assert 0 < finished.cpu < finished.elapsed * 4
    assert finished.memory > MIB


async def test_a_signal_is_a_negative_code(namespaces: Namespaces) -> None:
    assert (await sh("kill -TERM $$", namespaces=namespaces)).code == -signal.SIGTERM


async def test_programs_die_of_a_broken_pipe_as_they_expect(namespaces: Namespaces) -> None:
    finished = await sh("yes | head -n 1", namespaces=namespaces)
    assert (finished.stdout, finished.stderr) == (b"y\n", b"")


async def test_only_the_given_environment_is_there(namespaces: Namespaces) -> None:
    environment, limits = {"A": "1", "B": "x=y\nz"}, Limits(memory=None)
    finished = await run(["/usr/bin/env"], environment=environment, limits=limits, namespaces=namespaces)
    assert finished.stdout == b"A=1\nB=x=y\nz\n"


async def test_our_own_environment_cannot_be_read_from_the_process_above(namespaces: Namespaces) -> None:
    finished = await sh("cat /proc/$PPID/environ && echo read", namespaces=namespaces)
    assert finished.stdout in {b"", b"read\n"}  # it may not be opened, or there is nothing in it


async def test_go_programs_are_told_of_the_memory_limit_unless_the_caller_says_otherwise() -> None:
    limits = Limits(memory=100 * MIB)
    told = await run(["/usr/bin/env"], limits=limits)
    own = await run(["/usr/bin/env"], limits=limits, environment={"GOMEMLIMIT": "off"})
    assert (told.stdout, own.stdout) == (b"GOMEMLIMIT=94371840\n", b"GOMEMLIMIT=off\n")


async def test_arguments_arrive_byte_for_byte(namespaces: Namespaces) -> None:
    odd = ["", " ", "a\nb", "ü", os.fsdecode(b"\xff\xfe"), "-n", "$(id)"]
    finished = await run(["/usr/bin/printf", "%s|", *odd], namespaces=namespaces)
    assert finished.stdout == b"".join(os.fsencode(word) + b"|" for word in odd)


async def test_input_larger_than_any_pipe_goes_in_and_comes_out(namespaces: Namespaces) -> None:
    text = os.urandom(3 * MIB)
    finished = await run(["/bin/cat"], stdin=text, namespaces=namespaces)
    assert finished.stdout == text


async def test_input_may_stay_unread(namespaces: Namespaces) -> None:
    assert (await run(["/bin/true"], stdin=bytes(3 * MIB), namespaces=namespaces)).code == 0


async def test_without_input_the_program_reads_an_end(namespaces: Namespaces) -> None:
    assert (await run(["/bin/cat"], namespaces=namespaces)).stdout == b""


async def test_it_runs_in_the_folder_asked_for(tmp_path: Path, namespaces: Namespaces) -> None:
    finished = await run(["/bin/pwd"], cwd=tmp_path, namespaces=namespaces)
    assert finished.stdout == f"{tmp_path}\n".encode()


async def test_it_has_a_session_of_its_own_and_no_terminal(namespaces: Namespaces) -> None:
    script = "read pid _ _ _ group session _ </proc/self/stat; echo $pid $group $session; exec 3</dev/tty"
    finished = await sh(script, namespaces=namespaces)
    assert finished.code != 0
    assert len(set(finished.stdout.split())) == 1


async def test_it_stays_the_same_user(namespaces: Namespaces) -> None:
    assert (await run(["/usr/bin/id", "-u"], namespaces=namespaces)).stdout == f"{os.geteuid()}\n".encode()


async def test_many_run_at_once() -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(sh(f"echo {number}")) for number in range(8)]
    assert [task.result().stdout for task in tasks] == [f"{number}\n".encode() for number in range(8)]


# --- limits ----------------------------------------------------------------------------------------------

HUNGRY = "head -c 400000000 /dev/zero | tail -c 399999999 | wc -c; sleep 1000"
MANY_HUNGRY = "for i in 1 2 3 4; do (head -c 60000000 /dev/zero; sleep 99) | tail -c 59999999 & done; wait"


async def test_wall_time_stops_it(wire: Wire, namespaces: Namespaces) -> None:
    clock, limits = ManualClock(), Limits(wall=timedelta(seconds=60))
    async with asyncio.TaskGroup() as group:
        program = ["/bin/sh", "-c", f"echo so far >&2; {wire.hold()}"]
        task = group.create_task(_caught(program, limits, clock, namespaces))
        await wire.up()
        await clock.advance(59)
        assert not task.done()
        await clock.advance(1)
    error = task.result()
    assert (error.limit, error.allowed, error.used, error.stderr_tail) == ("wall", 60, 60, "so far")
    assert str(error) == (
        "sh: was stopped: it used 60 s of time; the limit is 60 s. "
        "Raise the limit on wall time, or give it less to do."
    )
    await wire.dead()


async def _caught(
    program: list[str], limits: Limits, clock: ManualClock, namespaces: Namespaces
) -> ProgramStopped:
    with pytest.raises(ProgramStopped) as caught:
        await run(
            program,
            limits=limits,
            clock=clock,
            environment=TOOLS,
            namespaces=namespaces,
            launches=LAUNCHES[0] if LAUNCHES else None,
        )
    return caught.value


@pytest.mark.parametrize(
    ("limit", "script", "limits"),
    [
        ("memory", HUNGRY, Limits(memory=128 * MIB)),
        ("memory", MANY_HUNGRY, Limits(memory=128 * MIB)),
        ("cpu", "while :; do :; done", Limits(cpu=timedelta(seconds=0.3))),
        ("cpu", "(while :; do :; done) & while :; do :; done", Limits(cpu=timedelta(seconds=0.3))),
        ("output", "yes", Limits(output=MIB)),
        ("output", "yes >&2", Limits(output=MIB)),
        ("processes", "i=0; while [ $i -lt 60 ]; do sleep 99 & i=$((i+1)); done; wait", Limits(processes=40)),
    ],
    ids=["one hungry", "many hungry", "busy", "two busy", "out", "err", "many"],
)
async def test_a_limit_stops_the_whole_tree(
    limit: Limit, script: str, limits: Limits, namespaces: Namespaces
) -> None:
    error = await stopped(script, limits, namespaces)
    assert error.limit == limit
    assert error.used > error.allowed


async def test_exactly_as_much_output_as_allowed_is_fine() -> None:
    limits = Limits(output=1000)
    finished = await sh("head -c 1000 /dev/zero", limits=limits)
    assert finished.stdout == bytes(1000)
    assert (await stopped("head -c 1001 /dev/zero", limits, "auto")).used == 1001


#: most of it stays when the kernel refuses the rest: however seldom somebody counts, it is there
BOMB = "bomb() { sleep 99 & sleep 99 & sleep 99 & bomb & bomb & wait; }; bomb"


async def test_a_fork_bomb_is_defused() -> None:
    if not (await walls()).process_limit:
        pytest.skip("without a limit of the kernel's own this would endanger the machine")
    error = await stopped(BOMB, Limits(processes=20), "auto")
    assert error.limit == "processes"


async def test_a_file_that_grows_too_large_stops_it(tmp_path: Path, namespaces: Namespaces) -> None:
    program = ["/bin/dd", "if=/dev/zero", f"of={tmp_path / 'file'}", "bs=1M", "count=3"]
    with pytest.raises(ProgramStopped) as caught:
        await run(program, limits=Limits(file_size=MIB), namespaces=namespaces)
    assert caught.value.limit == "file_size"
    assert (tmp_path / "file").stat().st_size == MIB


async def test_a_program_that_may_write_no_file_can_still_be_told_of(namespaces: Namespaces) -> None:
    done = await run(["/bin/echo", "hi"], limits=Limits(file_size=0), namespaces=namespaces)
    assert (done.code, done.stdout) == (0, b"hi\n")


RELAY = """
import os, sys
for _ in range(5000):
    if os.fork():
        os._exit(0)
open(sys.argv[1], "w").close()
"""


async def test_nobody_runs_away_by_forking_faster_than_he_can_be_found(
    wire: Wire, tmp_path: Path, namespaces: Namespaces
) -> None:
    arrived = tmp_path / "arrived"
    program = shlex.join([sys.executable, "-I", "-S", "-c", RELAY, str(arrived)])
    await sh(wire.hold(f"exec {program}"), namespaces=namespaces)
    await wire.up()
    await wire.dead()
    assert not arrived.exists()


async def test_open_files_and_core_dumps_are_limited_for_each_process(namespaces: Namespaces) -> None:
    finished = await sh("ulimit -n; ulimit -c", limits=Limits(open_files=77), namespaces=namespaces)
    assert finished.stdout == b"77\n0\n"


async def test_the_kernel_would_pick_the_program_first_when_memory_is_short(namespaces: Namespaces) -> None:
    assert (await sh("cat /proc/self/oom_score_adj", namespaces=namespaces)).stdout == b"1000\n"


async def test_last_words_are_kept_apart_from_the_message() -> None:
    error = await stopped("echo canary-secret >&2; yes", Limits(output=MIB), "auto")
    assert error.stderr_tail == "canary-secret"
    assert "canary" not in str(error)


# --- the end of the whole tree ---------------------------------------------------------------------------


def escape(wire: Wire) -> str:
    """A child that forks twice, leaves session and group, closes every stream, and ignores polite signals."""
    inner = f"trap : TERM HUP INT; {wire.hold()}"
    return f"setsid sh -c '(setsid sh -c \"{inner}\" &)' </dev/null >/dev/null 2>&1 &"


async def test_who_sneaks_away_is_ended_when_the_program_ends(wire: Wire, namespaces: Namespaces) -> None:
    gate = wire.path.with_name("gate")
    os.mkfifo(gate)
    script = f"{escape(wire)} read line <{gate}; echo done"
    async with asyncio.TaskGroup() as group:
        task = group.create_task(sh(script, namespaces=namespaces))
        await wire.up()
        await asyncio.to_thread(gate.write_text, "go\n")
    assert task.result().stdout == b"done\n"
    await wire.dead()


async def test_a_child_that_keeps_the_output_open_does_not_delay_the_end(namespaces: Namespaces) -> None:
    finished = await sh("sleep 1000 & echo done", namespaces=namespaces)
    assert (finished.stdout, finished.code) == (b"done\n", 0)


async def test_a_run_can_be_cancelled_at_any_turn_without_a_complaint_of_the_loop() -> None:
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    for turns in range(16):
        async with asyncio.TaskGroup() as room:
            task = room.create_task(run(["/bin/sleep", "60"], stdin=b"x"))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
    assert complaints == []


async def test_cancelling_ends_the_whole_tree(
    wire: Wire, namespaces: Namespaces, family_before: set[int]
) -> None:
    with suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(sh(f"{escape(wire)} {wire.hold()}", namespaces=namespaces))
            await wire.up(2)
            task.cancel()
    assert task.cancelled()
    servers = {launches.pid for launches in LAUNCHES}
    assert set(descendants(os.getpid())) <= family_before | servers
    await wire.dead()


OWNER = """
import asyncio, os, signal, sys
from trimtab.programs import run
program = ["/bin/sh", "-c", sys.argv[1]]
def leave_a_bystander():
    sys.stdin.readline()
    if os.fork() == 0:
        signal.pause()
    print("left", flush=True)
async def main():
    asyncio.get_running_loop().add_reader(0, leave_a_bystander)
    await run(program, environment={"PATH": "/usr/bin:/bin"}, namespaces=sys.argv[2])
asyncio.run(main())
"""


async def owner_of(script: str, namespaces: Namespaces) -> asyncio.subprocess.Process:
    arguments = (sys.executable, "-W", "ignore", "-c", OWNER, script, namespaces)
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*arguments, stdin=pipe, stdout=pipe, start_new_session=True)


async def test_the_tree_dies_with_an_owner_who_is_killed(wire: Wire, namespaces: Namespaces) -> None:
    owner = await owner_of(f"{escape(wire)} {wire.hold()}", namespaces)
    await wire.up(2)
    owner.kill()
    await owner.communicate()
    await wire.dead()


async def test_it_does_so_even_if_a_fork_of_the_owner_lives_on(wire: Wire, namespaces: Namespaces) -> None:
    owner = await owner_of(wire.hold(), namespaces)
    assert owner.stdin
    assert owner.stdout
    await wire.up()
    owner.stdin.write(b"fork\n")
    assert await owner.stdout.readline() == b"left\n"
    owner.kill()
    await wire.dead()
    os.killpg(owner.pid, signal.SIGKILL)  # the bystander
    await owner.communicate()


async def test_the_program_dies_with_its_launcher(wire: Wire, namespaces: Namespaces) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_unavailable(wire.hold("exec sleep 1000"), namespaces))
        await wire.up()
        launcher = next(pid for pid in descendants(os.getpid()) if _is_launcher(pid))
        os.kill(launcher, signal.SIGKILL)
        await wire.dead()
    assert task.result().reason == "ended with its launcher, which was killed"


async def _unavailable(script: str, namespaces: Namespaces) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        await sh(script, namespaces=namespaces)
    return caught.value


async def test_a_launcher_that_does_not_listen_is_killed(wire: Wire, namespaces: Namespaces) -> None:
    clock, limits = ManualClock(), Limits(wall=timedelta(seconds=60))
    async with asyncio.TaskGroup() as group:
        program = ["/bin/sh", "-c", wire.hold("exec sleep 1000")]
        task = group.create_task(_caught(program, limits, clock, namespaces))
        await wire.up()
        servers = {launches.pid for launches in LAUNCHES}
        below = (pid for pid in descendants(os.getpid()) if pid not in servers)
        os.kill(next(pid for pid in below if _is_launcher(pid)), signal.SIGSTOP)
        await clock.advance(60)
        await clock.advance(GRACE)
        await wire.dead()
    assert task.result().limit == "wall"


def _is_launcher(pid: int) -> bool:
    return b"launch.py" in Path(f"/proc/{pid}/cmdline").read_bytes()


# --- walls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [Limits(network=False), Limits(network=True)], ids=["apart", "allowed"])
async def test_what_is_said_of_the_network_is_true(limits: Limits, namespaces: Namespaces) -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    async with server:
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
        finished = await run(["/bin/bash", "-c", script], limits=limits, namespaces=namespaces)
    assert finished.walls.network == (finished.code != 0)
    assert not (finished.walls.network and limits.network)


async def test_what_is_said_of_processes_and_rights_is_true(namespaces: Namespaces) -> None:
    script = f"ls -d /proc/{os.getpid()}; kill -0 {os.getpid()} && echo reached; cat /proc/self/status"
    finished = await sh(script, namespaces=namespaces)
    said = finished.stdout.decode()
    assert finished.walls.own_proc == (f"/proc/{os.getpid()}" not in said)
    assert finished.walls.pid_namespace == ("reached" not in said)
    assert finished.walls.no_new_privileges == ("NoNewPrivs:\t1" in said)
    assert finished.walls.no_capabilities == ("CapEff:\t0000000000000000" in said)


async def test_its_own_loopback_works() -> None:
    if not (await walls()).network:
        pytest.skip("no network namespace can be made here")
    finished = await run(["/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9"])
    assert b"refused" in finished.stderr  # nobody listens, but somebody is there


async def test_probing_says_what_a_run_says(namespaces: Namespaces) -> None:
    found = await walls(namespaces=namespaces)
    ran = (await sh("true", namespaces=namespaces)).walls
    assert ran == structs.replace(found, files=False)  # nobody asked for that wall


async def test_without_namespaces_watching_remains() -> None:
    expected = Walls(watch=True, no_capabilities=True, no_new_privileges=True)
    assert await walls(namespaces="never") == expected


PROBE = "import asyncio; from trimtab.programs import walls; print(asyncio.run(walls()))"
NO_USER_NAMESPACES = 'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all "$@"'


@pytest.mark.skipif(os.getuid() != 0, reason="this user is unprivileged already")
@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ((), "user_namespace=False"),
        (UNPRIVILEGED, "user_namespace=True"),
        (
            ("unshare", "--user", "--map-root-user", "sh", "-c", NO_USER_NAMESPACES, "sh"),
            "pid_namespace=False",
        ),
        (("setpriv", "--bounding-set=-sys_admin,-setfcap"), "pid_namespace=False"),
    ],
    ids=["root", "unprivileged", "no user namespaces", "root who may not map itself"],
)
def test_every_kind_of_user_gets_the_walls_that_are_possible(prefix: tuple[str, ...], expected: str) -> None:
    said = subprocess.run(
        [*prefix, sys.executable, "-c", PROBE], check=True, capture_output=True, text=True, cwd="/"
    ).stdout
    assert expected in said
    assert ("network=True" in said) == ("pid_namespace=True" in said)
    assert "watch=True" in said


@pytest.mark.skipif(os.getuid() != 0, reason="this user is unprivileged already")
def test_all_of_this_holds_for_an_unprivileged_user_too() -> None:
    place = Path("/tmp") / f"trimtab-unprivileged-{os.getpid()}"
    place.mkdir(mode=0o700)
    os.chown(place, 65534, 65534)
    pytest_again = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not never or above")
    command = [*UNPRIVILEGED, sys.executable, *pytest_again]
    try:
        done = subprocess.run(
            [*command, f"--basetemp={place / 'tests'}", str(Path(__file__))],
            check=False,
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
    finally:
        shutil.rmtree(place)
    assert done.returncode == 0, done.stdout


# --- what cannot be run ----------------------------------------------------------------------------------


def a_file(folder: Path, text: str, mode: int) -> str:
    path = folder / "program"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


async def refusal(
    *argv: str, cwd: Path | None = None, environment: dict[str, str] | None = None
) -> TrimtabError:
    with pytest.raises(TrimtabError) as caught:
        await run(argv, cwd=cwd, environment=environment or {})
    return caught.value


async def test_words_that_cannot_be_handed_over_are_refused() -> None:
    assert "surrogate" in (await refusal("/bin/echo", "\ud800")).reason
    assert "variable" in (await refusal("/bin/echo", environment={"A": "\ud800"})).reason
    assert (await run(["/bin/echo", "caf\udce9"])).stdout == b"caf\xe9\n"


async def test_a_missing_program_is_missing() -> None:
    error = await refusal("/nowhere/helm")
    assert type(error) is Missing
    assert str(error) == "helm: there is no program /nowhere/helm. Install it, or mend its path."


async def test_a_bare_name_is_looked_up_in_the_given_path_alone(tmp_path: Path) -> None:
    assert (await run(["true"], environment=TOOLS)).code == 0
    assert type(await refusal("true")) is Missing
    a_file(tmp_path, "#!/bin/sh\n", 0o755)
    relative = {"PATH": f"::.:{'../' * 20}{tmp_path}"}
    assert type(await refusal("program", environment=relative)) is Missing
    assert (await run(["program"], environment={"PATH": str(tmp_path)})).code == 0


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        ("#!/bin/sh\n", 0o644, "is not executable"),
        ("#!/nowhere/sh\n", 0o755, "names an interpreter that does not exist"),
        ("no program", 0o755, "is not a program for this machine: Exec format error"),
    ],
)
async def test_an_unfit_file_is_refused(tmp_path: Path, text: str, mode: int, reason: str) -> None:
    path = a_file(tmp_path, text, mode)
    error = await refusal(path)
    assert (type(error), error.reason) == (InvalidSpec, f"{path} {reason}")


async def test_arguments_that_cannot_be_passed_are_refused() -> None:
    assert type(await refusal()) is InvalidSpec
    assert type(await refusal("/bin/true", "a\0b")) is InvalidSpec
    assert type(await refusal("/bin/true", environment={"A=B": "c"})) is InvalidSpec
    assert type(await refusal("/bin/true", environment={"A": "b\0c"})) is InvalidSpec
    assert (await refusal("/bin/true", "x" * 3 * MIB)).remedy == "Pass them in a file."


async def test_a_folder_that_cannot_be_entered_is_named(tmp_path: Path) -> None:
    missing, file = tmp_path / "missing", tmp_path / "file"
    file.write_text("")
    assert str(await refusal("/bin/true", cwd=missing)) == (
        f"folder {missing}: does not exist, so true cannot run there. Create it."
    )
    assert type(await refusal("/bin/true", cwd=file)) is InvalidSpec


async def test_a_folder_that_is_locked_is_not_allowed(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o000)
    assert type(await refusal("/bin/true", cwd=locked)) is NotAllowed
