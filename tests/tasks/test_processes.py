"""Worker processes: every way a job can go wrong fails that job alone."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import sys
import time
import warnings
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from testbed.scarcity import PIPES_ARE_CLOSED, failures_without_files
from tests.tasks import jobs
from trimtab.errors import RenderFailed, Unavailable
from trimtab.tasks import (
    DeadlinePassed,
    Hint,
    JobRaised,
    ManualClock,
    PoolPolicy,
    ResultTooLarge,
    WorkerCrashed,
    WorkerProcesses,
    WorkersBusy,
)
from trimtab.tasks.processes import reference_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

A_MINUTE = timedelta(minutes=1)
ROOT = Path(__file__).parents[2]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[WorkerProcesses]:
    """One worker for many tests: each leaves it usable, or proves that it is replaced."""
    async with WorkerProcesses(PoolPolicy(size=1)) as pool:
        yield pool
    gc.collect()  # what was not closed properly would complain now


async def readable(descriptor: int) -> None:
    """Wait until there is something to read."""
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, seen.set)
    try:
        async with asyncio.timeout(60):
            await seen.wait()
    finally:
        loop.remove_reader(descriptor)


class Ear:
    """A FIFO into which a worker tells a number."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    async def number(self) -> int:
        await readable(self._descriptor)
        return int(os.read(self._descriptor, 100))

    def close(self) -> None:
        os.close(self._descriptor)


@pytest_asyncio.fixture(loop_scope="module")
async def ear(tmp_path: Path) -> AsyncIterator[Ear]:
    ear = Ear(tmp_path / "ear")
    yield ear
    ear.close()


async def ended(pid: int) -> None:
    """Wait until the process has ended, whoever its parent is."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        await readable(descriptor)
    finally:
        os.close(descriptor)


async def a_few_turns() -> None:
    """Let every task that is ready get to where it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def outcome(
    pool: WorkerProcesses, function: Callable[[bytes], bytes], payload: bytes, deadline: timedelta
) -> bytes | Exception:
    """What the job ends with."""
    try:
        return await pool.run(function, payload, deadline=deadline)
    except Exception as error:  # noqa: BLE001 - the error is what the tests compare
        return error


# What goes right


async def test_bytes_go_in_and_bytes_come_out(pool: WorkerProcesses) -> None:
    assert await pool.run(jobs.shout, b"quiet", deadline=A_MINUTE) == b"QUIET"
    assert await pool.run(jobs.shout, b"", deadline=A_MINUTE) == b""


async def test_a_worker_is_another_process_and_stays_for_the_next_job(pool: WorkerProcesses) -> None:
    first = int(await pool.run(jobs.pid, b"", deadline=A_MINUTE))
    second = int(await pool.run(jobs.pid, b"", deadline=A_MINUTE))
    assert first == second != os.getpid()
    (report,) = pool.snapshot().workers
    assert (report.pid, report.job) == (first, "")


async def test_a_worker_that_was_hired_beforehand_gets_the_first_job(pool: WorkerProcesses) -> None:
    await pool.hire()
    await pool.hire()
    (hired,) = pool.snapshot().workers
    assert int(await pool.run(jobs.pid, b"", deadline=A_MINUTE)) == hired.pid


@pytest.mark.parametrize("hint", [jobs.remember, jobs.stumble])
async def test_a_worker_heeds_a_hint_before_the_first_job_and_nobody_hears_of_it(
    hint: Callable[[bytes], bytes],
) -> None:
    known = b"a word" if hint is jobs.remember else b""
    async with WorkerProcesses(PoolPolicy(size=1)) as pool:
        await pool.hire(Hint(reference_of(hint), b"a word"))
        assert await pool.run(jobs.recall, b"", deadline=A_MINUTE) == known
        assert await pool.run(jobs.shout, b"quiet", deadline=A_MINUTE) == b"QUIET"


async def test_a_worker_that_is_there_is_given_no_hint() -> None:
    async with WorkerProcesses(PoolPolicy(size=1)) as pool:
        await pool.hire()
        await pool.hire(Hint(reference_of(jobs.remember), b"a word"))
        assert await pool.run(jobs.recall, b"", deadline=A_MINUTE) == b""


async def test_memory_that_a_hint_takes_is_bounded_like_that_of_a_job() -> None:
    async with WorkerProcesses(PoolPolicy(size=1, memory_limit=300_000_000)) as pool:
        await pool.hire(Hint(reference_of(jobs.fill_memory), b""))
        with pytest.raises(WorkerCrashed, match="ran out of memory"):
            await pool.run(jobs.shout, b"", deadline=A_MINUTE)
        assert await pool.run(jobs.shout, b"again", deadline=A_MINUTE) == b"AGAIN"


async def test_a_worker_imports_where_its_jobs_come_from_before_it_is_ready() -> None:
    async with WorkerProcesses(PoolPolicy(size=1, module="tests.tasks.no_such_module")) as pool:
        await pool.hire()
        with pytest.raises(WorkerCrashed) as caught:
            await pool.run(jobs.shout, b"", deadline=A_MINUTE)
    assert "No module named 'tests.tasks.no_such_module'" in caught.value.__notes__[0]


@pytest.mark.parametrize("turns", range(0, 12, 3))
async def test_closing_while_a_worker_is_hired_leaves_none_behind(turns: int) -> None:
    pool = WorkerProcesses(PoolPolicy(size=1))

    async def hire() -> None:
        with suppress(Unavailable):  # it had not begun
            await pool.hire()

    async with asyncio.TaskGroup() as group:
        group.create_task(hire())
        for _ in range(turns):
            await asyncio.sleep(0)
        await pool.close()
    assert pool.snapshot().workers == ()


async def test_forty_megabytes_go_both_ways_without_keeping_the_event_loop_for_fifty_milliseconds(
    pool: WorkerProcesses,
) -> None:
    payload = bytes(range(256)) * 160_000
    expected = payload[::-1]
    longest, finished = 0.0, False

    async def measure() -> None:
        """The longest turn of the loop, in CPU time: the machine may be busy with others."""
        nonlocal longest
        before = time.thread_time()
        while not finished:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, before = max(longest, now - before), now

    async with asyncio.TaskGroup() as group:
        group.create_task(measure())
        result = await pool.run(jobs.reverse, payload, deadline=A_MINUTE)
        finished = True
    assert result == expected
    assert longest < 0.05


async def test_nothing_a_function_prints_reaches_the_protocol(pool: WorkerProcesses) -> None:
    assert await pool.run(jobs.chatter, b"answer", deadline=A_MINUTE) == b"answer"


async def test_workers_get_only_the_environment_they_are_given(pool: WorkerProcesses) -> None:
    inherited = await pool.run(jobs.environment, b"", deadline=A_MINUTE)
    assert b"PATH=" not in inherited
    async with WorkerProcesses(PoolPolicy(size=1, environment={"TZ": "UTC"})) as other:
        assert b"TZ=UTC" in await other.run(jobs.environment, b"", deadline=A_MINUTE)


async def test_a_worker_is_replaced_after_so_many_jobs() -> None:
    async with WorkerProcesses(PoolPolicy(size=1, jobs_per_worker=2)) as pool:
        pids = [await pool.run(jobs.pid, b"", deadline=A_MINUTE) for _ in range(3)]
        assert pids[0] == pids[1] != pids[2]
        await ended(int(pids[0]))


# What goes wrong inside a job


async def test_a_bug_in_the_function_comes_back_with_type_message_and_traceback(
    pool: WorkerProcesses,
) -> None:
    with pytest.raises(JobRaised) as caught:
        await pool.run(jobs.stumble, b"x", deadline=A_MINUTE)
    assert str(caught.value) == "tests.tasks.jobs:stumble raised KeyError: 'x'"
    assert "in stumble" in caught.value.__notes__[0]


async def test_an_error_of_the_house_comes_back_as_itself(pool: WorkerProcesses) -> None:
    with pytest.raises(RenderFailed, match=r"^chart web: it has no name. Name it.$"):
        await pool.run(jobs.refuse, b"", deadline=A_MINUTE)


@pytest.mark.parametrize(
    ("function", "complaint"),
    [(jobs.exit_politely, "raised SystemExit: bye"), (jobs.wrong_type, "it returned str, not bytes")],
)
async def test_what_is_no_answer_is_told_and_the_worker_lives(
    pool: WorkerProcesses, function: Callable[[bytes], bytes], complaint: str
) -> None:
    before = await pool.run(jobs.pid, b"", deadline=A_MINUTE)
    with pytest.raises(JobRaised, match=complaint):
        await pool.run(function, b"", deadline=A_MINUTE)
    assert await pool.run(jobs.pid, b"", deadline=A_MINUTE) == before


@pytest.mark.parametrize(
    ("function", "end"),
    [
        (jobs.leave, "its worker process ended by itself with status 3"),
        (jobs.segfault, "its worker process was killed by SIGSEGV"),
        (jobs.be_killed, "its worker process was killed by SIGKILL"),
        (jobs.close_everything, "its worker process was killed by SIGKILL"),
    ],
)
async def test_a_crash_fails_its_job_alone_and_the_worker_is_replaced(
    pool: WorkerProcesses, function: Callable[[bytes], bytes], end: str
) -> None:
    with pytest.raises(WorkerCrashed) as caught:
        await pool.run(function, b"", deadline=A_MINUTE)
    assert caught.value.reason == end
    assert caught.value.subject == f"job tests.tasks.jobs:{function.__name__}"
    assert await pool.run(jobs.shout, b"on", deadline=A_MINUTE) == b"ON"


async def test_a_crash_while_a_large_payload_is_under_way_is_told_too(pool: WorkerProcesses) -> None:
    worker = int(await pool.run(jobs.pid, b"", deadline=A_MINUTE))
    async with asyncio.TaskGroup() as group:
        job = group.create_task(outcome(pool, jobs.shout, bytes(100_000_000), A_MINUTE))
        await a_few_turns()
        assert pool.snapshot().workers[0].job == "tests.tasks.jobs:shout"
        os.kill(worker, 9)
        assert isinstance(await job, WorkerCrashed)


async def test_a_crash_of_one_worker_leaves_the_others_jobs_alone(ear: Ear, tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    os.mkfifo(answer)
    async with WorkerProcesses(PoolPolicy(size=2)) as pool, asyncio.TaskGroup() as group:
        steady = group.create_task(
            pool.run(jobs.tell_and_wait, f"{ear.path}\n{answer}".encode(), deadline=A_MINUTE)
        )
        await ear.number()
        with pytest.raises(WorkerCrashed):
            await pool.run(jobs.leave, b"", deadline=A_MINUTE)
        await asyncio.to_thread(answer.write_bytes, b"done")
        assert await steady == b"done"


async def test_memory_is_limited_and_running_out_of_it_is_a_crash() -> None:
    async with WorkerProcesses(PoolPolicy(size=1, memory_limit=600_000_000)) as pool:
        with pytest.raises(WorkerCrashed, match="ran out of memory"):
            await pool.run(jobs.fill_memory, b"", deadline=A_MINUTE)
        with pytest.raises(WorkerCrashed, match="ran out of memory"):
            await pool.run(jobs.zeros, b"900000000", deadline=A_MINUTE)


async def test_a_result_that_is_too_large_is_refused_unread() -> None:
    async with WorkerProcesses(PoolPolicy(size=1, largest_result=1000)) as pool:
        assert await pool.run(jobs.zeros, b"1000", deadline=A_MINUTE) == bytes(1000)
        with pytest.raises(ResultTooLarge, match="its result has 1001 bytes and may have 1000"):
            await pool.run(jobs.zeros, b"1001", deadline=A_MINUTE)
        assert await pool.run(jobs.zeros, b"3", deadline=A_MINUTE) == bytes(3)


async def test_a_worker_that_died_while_idle_costs_no_job(pool: WorkerProcesses) -> None:
    worker = int(await pool.run(jobs.pid, b"", deadline=A_MINUTE))
    os.kill(worker, 9)
    await ended(worker)
    await a_few_turns()
    assert await pool.run(jobs.shout, b"on", deadline=A_MINUTE) == b"ON"
    assert pool.snapshot().workers[0].pid != worker


async def test_a_worker_that_cannot_start_says_why() -> None:
    async with WorkerProcesses(PoolPolicy(size=1, memory_limit=2**70)) as pool:
        with pytest.raises(WorkerCrashed) as caught:
            await pool.run(jobs.shout, b"", deadline=A_MINUTE)
    assert str(caught.value).startswith(
        "a worker process: it ended by itself with status 1 before it was ready"
    )
    assert "OverflowError" in caught.value.__notes__[0]


# Time and ends


async def test_a_job_over_its_deadline_is_killed_with_all_it_started(ear: Ear) -> None:
    clock = ManualClock()
    async with WorkerProcesses(PoolPolicy(size=1), clock=clock) as pool, asyncio.TaskGroup() as group:
        job = group.create_task(
            outcome(pool, jobs.tell_with_child_and_hang, str(ear.path).encode(), timedelta(seconds=30))
        )
        child = await ear.number()
        await clock.advance(29)
        assert not job.done()
        await clock.advance(1)
        error = await job
        await ended(child)
        assert await pool.run(jobs.shout, b"on", deadline=A_MINUTE) == b"ON"
    assert isinstance(error, DeadlinePassed)
    assert (error.subject, error.reason) == (
        "job tests.tasks.jobs:tell_with_child_and_hang",
        "it was not done within 30 seconds",
    )


async def test_waiting_for_a_worker_is_seen_bounded_and_no_part_of_the_deadline(ear: Ear) -> None:
    clock = ManualClock()
    policy = PoolPolicy(size=1, patience=timedelta(seconds=20))
    async with WorkerProcesses(policy, clock=clock) as pool, asyncio.TaskGroup() as group:
        long = group.create_task(outcome(pool, jobs.tell_and_hang, str(ear.path).encode(), A_MINUTE))
        worker = await ear.number()
        patient = group.create_task(outcome(pool, jobs.shout, b"", timedelta(seconds=1)))
        await clock.advance(10)
        late = group.create_task(outcome(pool, jobs.shout, b"late", timedelta(seconds=1)))
        await clock.advance(9)
        assert pool.snapshot().queued == 2
        assert pool.snapshot().workers[0].job == "tests.tasks.jobs:tell_and_hang"
        await clock.advance(1)
        error = await patient
        assert isinstance(error, WorkersBusy)
        assert error.reason == "no worker process was free for 20 seconds"
        os.kill(worker, 9)
        assert isinstance(await long, WorkerCrashed)
        assert await late == b"LATE"


async def test_cancelling_the_caller_kills_the_job(pool: WorkerProcesses, ear: Ear) -> None:
    async with asyncio.TaskGroup() as group:
        job = group.create_task(pool.run(jobs.tell_and_hang, str(ear.path).encode(), deadline=A_MINUTE))
        worker = await ear.number()
        job.cancel()
    assert job.cancelled()
    await ended(worker)
    assert await pool.run(jobs.shout, b"on", deadline=A_MINUTE) == b"ON"


@pytest.mark.parametrize("turns", range(10))
async def test_cancelling_a_caller_while_a_worker_starts_leaves_no_socket_open(turns: int) -> None:
    async with WorkerProcesses(PoolPolicy(size=1)) as pool, asyncio.TaskGroup() as room:
        job = room.create_task(pool.run(jobs.shout, b"", deadline=A_MINUTE))
        for _ in range(turns):
            await asyncio.sleep(0)
        with warnings.catch_warnings(record=True) as complaints:
            warnings.simplefilter("always")
            job.cancel()
            await asyncio.wait([job])
            gc.collect()
    assert [str(each.message) for each in complaints] == []


async def test_cancelling_a_caller_who_waits_for_a_worker_costs_no_worker_at_whichever_turn(ear: Ear) -> None:
    async with WorkerProcesses(PoolPolicy(size=1)) as pool, asyncio.TaskGroup() as group:
        for turns in range(7):
            busy = group.create_task(pool.run(jobs.tell_and_hang, str(ear.path).encode(), deadline=A_MINUTE))
            await ear.number()
            waiting = group.create_task(pool.run(jobs.shout, b"", deadline=A_MINUTE))
            await a_few_turns()
            busy.cancel()
            for _ in range(turns):
                await asyncio.sleep(0)
            waiting.cancel()
            async with asyncio.timeout(60):
                assert await pool.run(jobs.shout, b"on", deadline=A_MINUTE) == b"ON"
            assert pool.snapshot().queued == 0


async def test_closing_kills_every_worker_and_fails_what_runs_and_waits(ear: Ear) -> None:
    pool = WorkerProcesses(PoolPolicy(size=1))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(outcome(pool, jobs.tell_and_hang, str(ear.path).encode(), A_MINUTE))
        worker = await ear.number()
        waiting = [group.create_task(outcome(pool, jobs.shout, b"", A_MINUTE)) for _ in range(2)]
        await a_few_turns()
        assert pool.snapshot().queued == 2
        await pool.close()
        await ended(worker)
    for job in (running, *waiting):
        error = job.result()
        assert isinstance(error, Unavailable)
        assert error.reason == "its pool of worker processes is closed"
    assert isinstance(await outcome(pool, jobs.shout, b"", A_MINUTE), Unavailable)
    assert pool.snapshot().workers == ()


@pytest.mark.parametrize("turns", range(0, 12, 2))
async def test_closing_while_a_worker_starts_leaves_none_behind(turns: int) -> None:
    pool = WorkerProcesses(PoolPolicy(size=1))
    async with asyncio.TaskGroup() as group:
        job = group.create_task(outcome(pool, jobs.shout, b"", A_MINUTE))
        for _ in range(turns):
            await asyncio.sleep(0)
        await pool.close()
    error = job.result()
    assert isinstance(error, Unavailable)
    assert error.reason == "its pool of worker processes is closed"
    assert pool.snapshot().workers == ()


OWNER = """
import asyncio, sys
from datetime import timedelta
from tests.tasks import jobs
from trimtab.tasks import PoolPolicy, WorkerProcesses

async def main():
    async with WorkerProcesses(PoolPolicy(size=1)) as pool:
        await pool.run(getattr(jobs, sys.argv[1]), sys.argv[2].encode(), deadline=timedelta(minutes=5))

asyncio.run(main())
"""


async def owner_of(job: str, path: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, job, str(path), cwd=ROOT)


@pytest.mark.parametrize("job", ["tell_and_hang", "tell_with_child_and_hang", "tell_with_fork_and_hang"])
async def test_workers_and_what_they_started_die_with_their_owner_even_when_it_is_killed(
    job: str, ear: Ear
) -> None:
    owner = await owner_of(job, ear.path)
    worker_or_child = await ear.number()
    owner.kill()
    await owner.wait()
    await ended(worker_or_child)


@pytest.mark.parametrize("job", [jobs.tell_with_fork_and_leave, jobs.tell_with_child_and_leave])
async def test_what_a_worker_started_does_not_outlive_its_crash(
    job: Callable[[bytes], bytes], pool: WorkerProcesses, ear: Ear
) -> None:
    async with asyncio.TaskGroup() as group:
        crash = group.create_task(outcome(pool, job, str(ear.path).encode(), A_MINUTE))
        child = await ear.number()
    assert isinstance(crash.result(), WorkerCrashed)
    await ended(child)


async def test_no_worker_is_left_whenever_its_owner_is_killed() -> None:
    """From before a worker is started to long after its job spins."""
    for moment in range(12):
        owner = await owner_of("tell_and_hang", Path(os.devnull))
        with suppress(TimeoutError):
            await asyncio.wait_for(owner.wait(), moment / 16)
        owner.kill()
        await owner.wait()
        for worker in workers_of(owner.pid):
            await ended(worker)


def workers_of(owner: int) -> list[int]:
    """The worker processes that were started by this one, by their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[1:2] == [b"-I"] and str(owner).encode() in words[5:11]:
                found.append(int(folder.name))
    return found


# How it is called

SCRIPT = """#!{python}
import asyncio, sys, zlib
from datetime import timedelta
from trimtab.tasks import PoolPolicy, WorkerProcesses

async def main():
    async with WorkerProcesses(PoolPolicy(size=1)) as pool:
        answer = await pool.run(zlib.decompress, zlib.compress(b"it works"), deadline=timedelta(minutes=1))
        sys.stdout.write(answer.decode())

if __name__ == "__main__":
    asyncio.run(main())
"""


async def test_it_works_from_an_executable_script_as_installers_write_them(tmp_path: Path) -> None:
    script = tmp_path / "command"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o755)
    command = await asyncio.create_subprocess_exec(
        script, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert await command.communicate() == (b"it works", b"")


@pytest.mark.parametrize("function", [jobs.shout, zlib.compress])
async def test_a_function_is_named_by_where_it_is_found(function: Callable[[bytes], bytes]) -> None:
    module, _, name = reference_of(function).partition(":")
    assert getattr(sys.modules[module], name) is function


def main_function(payload: bytes) -> bytes:
    return payload


main_function.__module__ = "__main__"


@functools.wraps(jobs.shout)
def disguised(payload: bytes) -> bytes:
    return payload


@pytest.mark.parametrize(
    "function",
    [lambda payload: payload, functools.partial(jobs.shout), main_function, disguised],
    ids=["lambda", "partial", "main", "disguised"],
)
async def test_a_function_that_no_other_process_can_find_is_refused_at_once(
    pool: WorkerProcesses, function: Callable[[bytes], bytes]
) -> None:
    with pytest.raises(TypeError, match="a job needs a function"):
        await pool.run(function, b"", deadline=A_MINUTE)


@pytest.mark.parametrize(("size", "jobs_per_worker"), [(0, 1), (1, 0)])
async def test_a_pool_without_workers_is_refused(size: int, jobs_per_worker: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        PoolPolicy(size=size, jobs_per_worker=jobs_per_worker)


async def test_a_worker_whose_owner_is_already_gone_does_not_stay() -> None:
    boot = "import os; from trimtab.tasks.worker import main; main(0, *os.pipe(), 1, 0)"
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", boot, start_new_session=True)
    assert await worker.wait() == 87


async def test_a_worker_whose_lifeline_is_cut_already_does_not_stay() -> None:
    boot = (
        "import os; from trimtab.tasks.worker import main; reading, writing = os.pipe(); os.close(writing); "
        "main(0, reading, os.dup(reading), os.getppid(), 0)"
    )
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", boot, start_new_session=True)
    assert await worker.wait() == 87


@pytest.mark.skipif(not PIPES_ARE_CLOSED, reason="this Python leaves pipes open")
async def test_a_worker_that_cannot_be_started_leaves_no_open_files() -> None:
    async with WorkerProcesses(PoolPolicy(size=1)) as pool:
        assert await failures_without_files(pool.hire) > 5
