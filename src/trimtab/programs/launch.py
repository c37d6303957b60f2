"""Starts one program behind walls, watches its whole tree, and ends it whole.

Executed as a script by an isolated interpreter (`python -I -S launch.py CONTROL ORDER REPORT`, three open
files); it imports nothing of Trimtab and little of the standard library, because every run pays for it.
`trimtab.programs.handover` says what is in the order and in the report. `launch.py serve SOCKET` waits for
orders and forks a launcher for each, which spares every run the start of an interpreter.

    owner ── this launcher ── init (pid 1 of a PID namespace) ── the program ── its children
             watches, ends     reaps; its death ends all below

Without namespaces there is no init: the launcher adopts every orphan and finds the tree in /proc. The
launcher ends everything when the owner says a word on CONTROL, closes it, or dies; the kernel ends the
process below when the launcher or init dies.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TICK = 0.05
LOWEST_PID_MAX = 301
#: milliseconds, about, that the killed may take to go; who hangs in the kernel longer is left to it
PATIENCE = 5000
#: bytes that the report may take: it is a file, too, and init writes to it under the program's own limits
REPORT = 4096
#: processes that are counted where their number is not limited
MANY = 10_000
#: room above the process limit, so that the watch sees it crossed before the kernel refuses
SLACK = 32

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 0x20
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
AF_INET, SOCK_DGRAM, SIOCSIFFLAGS, IFF_UP = 2, 2, 0x8914, 1
SIGKILL, SIGPIPE, SIGCHLD, SIGSTOP, SIGXFSZ = 9, 13, 17, 19, 25
SIG_IGN = 1
CAPABILITY_VERSION = 0x20080522

LIBC = ctypes.CDLL(None)
LIBC.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
LIBC.mount.argtypes = (*(ctypes.c_char_p,) * 3, ctypes.c_ulong, ctypes.c_void_p)
LIBC.ioctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p)
LIBC.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
PAGE = resource.getpagesize()
HERTZ = os.sysconf("SC_CLK_TCK")


class Order:
    """The order, read."""

    def __init__(self, text: bytes) -> None:
        fields = text.split(b"\0")[:-1]
        self.owner = int(fields[0])
        self.namespaces = fields[1] == b"1"
        self.network = fields[2] == b"1"
        self.cpu = float(fields[3]) if fields[3] else None
        self.memory, self.file_size, self.open_files, self.processes = (
            int(field) if field else None for field in fields[4:8]
        )
        self.view, self.folder, self.path = fields[8:11]
        end = 12 + int(fields[11])
        self.argv = fields[12:end]
        self.environment = dict(field.split(b"=", 1) for field in fields[end:])
        #: set by `enclose`: whether this tree has a user namespace to itself
        self.own_user = False
        #: set by `be_init`: whether what is mounted is seen by nobody else
        self.own_mounts = False


class Report:
    """Where the launcher, init and the child say what happened; each line is one write."""

    def __init__(self, file: int) -> None:
        self.file = file

    def say(self, *words: object) -> None:
        """Add one line."""
        os.write(self.file, (" ".join(map(str, words)) + "\n").encode())


class Usage:
    """What a tree uses at one moment."""

    def __init__(self) -> None:
        self.cpu = 0.0
        self.memory = 0
        self.tasks = 0


def main() -> None:
    """Carry out one order, or wait for many."""
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        carry_out(*map(int, sys.argv[1:4]))


def serve(channel_file: int) -> None:
    """Fork a launcher for each order that comes, until the owner hangs up.

    Each message is one byte with seven open files: control, order, report, a pipe that ends with the
    launcher, and the three standard streams.
    """
    import gc
    import socket

    LIBC.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)  # hanging up would not end a server that was stopped
    gc.disable()  # whoever is forked lives too short to collect, and looking would copy the memory it shares
    channel = socket.socket(fileno=channel_file)
    channel.set_inheritable(False)
    LIBC.signal(SIGCHLD, SIG_IGN)  # nobody waits for a launcher; the end of its pipe tells the owner
    while True:
        word, files, _, _ = socket.recv_fds(channel, 1, 7)
        if not word:
            os._exit(0)
        if len(files) == 7 and os.fork() == 0:
            channel.close()
            os.setsid()
            LIBC.signal(SIGCHLD, None)
            *ours, alive, stdin, stdout, stderr = files
            os.set_inheritable(alive, False)
            for stream, file in enumerate((stdin, stdout, stderr)):
                os.dup2(file, stream)
                os.close(file)
            carry_out(*ours)
        for file in files:
            os.close(file)


def carry_out(control: int, order_file: int, report_file: int) -> None:
    """Carry out one order, and end."""
    for file in (control, order_file, report_file):
        os.set_inheritable(file, False)
    with open(order_file, "rb") as text:
        order = Order(text.read())
    report = Report(report_file)
    report.say("launcher", os.getpid())
    enclosed = order.namespaces and enclose(order, report)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if stat(os.getpid()):
        report.say("wall", "watch")
    child = os.fork()
    if child == 0:
        descend(order, report, enclosed=enclosed)
    peak = supervise(order, report, child, control, enclosed=enclosed)
    used, own = (resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    seconds = used.ru_utime + used.ru_stime + own.ru_utime + own.ru_stime
    report.say("used", seconds, max(peak, used.ru_maxrss * 1024))
    os._exit(0)


def descend(order: Order, report: Report, *, enclosed: bool) -> None:
    """In the child: become init, or the program itself; never come back."""
    try:
        if enclosed:
            be_init(order, report)
        else:
            become(order, report)
    finally:
        os._exit(127)


# --- walls -----------------------------------------------------------------------------------------------


def enclose(order: Order, report: Report) -> bool:
    """Make the namespaces: with the privilege there is, else inside a user namespace, else not at all."""
    wanted = CLONE_NEWPID if order.network else CLONE_NEWPID | CLONE_NEWNET
    user, group = os.geteuid(), os.getegid()
    if LIBC.unshare(wanted) != 0:
        if LIBC.unshare(wanted | CLONE_NEWUSER) != 0:
            return False
        keep_identity(user, group, report)
        order.own_user = True
        report.say("wall", "user_namespace")
    if not order.network:
        raise_loopback()
        report.say("wall", "network")
    report.say("wall", "pid_namespace")
    return True


def keep_identity(user: int, group: int, report: Report) -> None:
    """Be the same user inside as outside. A failure leaves us nobody: give up, the owner tries without."""
    try:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{user} {user} 1")
        write("/proc/self/gid_map", f"{group} {group} 1")
    except OSError as error:
        report.say("failed", "namespaces", error.errno)
        os._exit(1)


def raise_loopback() -> None:
    """Let the program talk to itself; nobody else is on this loopback."""
    socket = LIBC.socket(AF_INET, SOCK_DGRAM, 0)
    request = b"lo".ljust(16, b"\0") + IFF_UP.to_bytes(2, sys.byteorder) + bytes(22)
    LIBC.ioctl(socket, SIOCSIFFLAGS, request)
    os.close(socket)


def be_init(order: Order, report: Report) -> None:
    """As pid 1: start the program, reap whatever is orphaned, and end with the program."""
    LIBC.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    order.own_mounts = own_mounts()
    if order.own_mounts and own_proc():
        report.say("wall", "own_proc")
        if cap_pids(order):
            report.say("wall", "process_limit")
    program = spawn(order, report)
    while program:
        pid, status = os.wait()
        if pid == program:
            report.say("ended", os.waitstatus_to_exitcode(status))
            os._exit(0)


def spawn(order: Order, report: Report) -> int:
    """Put on the limits ourselves and start the program under them; 0 if it could not be started.

    A fork would copy this interpreter's memory for a program that throws it away. What holds the program
    holds its init as well then, which has nothing left to do but to wait.
    """
    stage = "limits"
    try:
        confine(order, report)
        stage = "folder"
        if order.folder:
            os.chdir(order.folder)
        if not order.path:
            report.say("ended", 0)  # the order was only to find out which walls stand
            return 0
        stage = "program"
        # Python ignores these two; programs expect to die of them.
        died_of = (SIGPIPE, SIGXFSZ)
        return os.posix_spawn(order.path, order.argv, order.environment, setsid=True, setsigdef=died_of)
    except OSError as error:
        report.say("failed", stage, error.errno)
        return 0


def own_mounts() -> bool:
    """Mount what nobody else sees."""
    if LIBC.unshare(CLONE_NEWNS) != 0:
        return False
    return bool(LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) == 0)


def narrow_view(order: Order) -> bool:
    """Let the program see one folder and itself, under the names that both have outside.

    A root of its own is mounted inside that folder, both are mounted into it, and it becomes the root.
    Whoever has no capability does not get out of it.
    """
    root = order.view + b"/.root"
    try:
        if not made_folder(root):
            return False
        if LIBC.mount(b"tmpfs", root, b"tmpfs", MS_NOSUID | MS_NODEV, b"size=64k,mode=755") != 0:
            return False
        os.makedirs(root + order.view, 0o755)  # noqa: PTH103 - pathlib costs every launch its import
        if not bound(order.view, root):
            return False
        if order.path:
            os.makedirs(root + order.path.rpartition(b"/")[0], 0o755, exist_ok=True)  # noqa: PTH103 - the same
            os.close(os.open(root + order.path, os.O_CREAT | os.O_WRONLY, 0o755))
            if not bound(order.path, root):
                return False
        LIBC.mount(None, root, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, None)
        os.chroot(root)
        os.chdir(order.view)
    except OSError:
        return False
    return True


def made_folder(path: bytes) -> bool:
    """Make a folder, or find one that an earlier run has made; a link is none."""
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102 - pathlib costs every launch its import
    except FileExistsError:
        return os.lstat(path).st_mode & 0o170000 == 0o040000
    return True


def bound(path: bytes, root: bytes) -> bool:
    """Show a file or a folder under its own name below another root."""
    return bool(LIBC.mount(path, root + path, None, MS_BIND, None) == 0)


def own_proc() -> bool:
    """Show the program its own tree only; refused where parts of the outer /proc are masked."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    return bool(LIBC.mount(b"proc", b"/proc", b"proc", flags, None) == 0)


def cap_pids(order: Order) -> bool:
    """Let the PID namespace itself run out of numbers. Before Linux 6.14 that setting was the machine's."""
    if order.processes is None or kernel() < (6, 14):
        return False
    try:
        write("/proc/sys/kernel/pid_max", str(max(order.processes + SLACK, LOWEST_PID_MAX)))
    except OSError:
        return False
    return True


def kernel() -> tuple[int, int]:
    """The kernel's version, as far as it matters."""
    major, minor = os.uname().release.split(".")[:2]
    digits = minor[: len(minor) - len(minor.lstrip("0123456789"))]
    return int(major), int(digits or 0)


def become(order: Order, report: Report) -> None:
    """Put on the limits and turn into the program."""
    parent, stage = os.getppid(), "limits"
    try:
        os.setsid()
        confine(order, report)
        stage = "folder"
        if order.folder:
            os.chdir(order.folder)
        LIBC.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(127)
        # Python ignores these two; programs expect to die of them.
        LIBC.signal(SIGPIPE, None)
        LIBC.signal(SIGXFSZ, None)
        if not order.path:
            os._exit(0)  # the order was only to find out which walls stand
        stage = "program"
        os.execve(order.path, order.argv, order.environment)  # noqa: S606 - this is what we are for
    except OSError as error:
        report.say("failed", stage, error.errno)


def confine(order: Order, report: Report) -> None:
    """Put on everything that a process keeps through the start of a program."""
    limit_resources(order, report)
    offer_to_oom_killer()
    if order.view and order.own_mounts and narrow_view(order):
        report.say("wall", "files")
    forgo_privileges(report)


def limit_resources(order: Order, report: Report) -> None:
    """Set the limits that the kernel holds for each process."""
    lower(resource.RLIMIT_CORE, 0)
    if order.cpu is not None:
        seconds = int(-(-order.cpu // 1))
        lower(resource.RLIMIT_CPU, seconds, seconds + 1)
    if order.file_size is not None:
        lower(resource.RLIMIT_FSIZE, max(order.file_size, REPORT))
    if order.open_files is not None:
        lower(resource.RLIMIT_NOFILE, order.open_files)
    # The limit counts a user's processes within the user namespace; in the machine's own it would count
    # processes that are none of ours. The kernel never holds it against the machine's root.
    if order.processes is not None and order.own_user and os.getuid() != 0:
        lower(resource.RLIMIT_NPROC, order.processes + SLACK)
        report.say("wall", "process_limit")


def offer_to_oom_killer() -> None:
    """Let the kernel pick the program, not its owner, when the whole machine is short of memory."""
    try:  # noqa: SIM105 - contextlib costs every launch its import
        write("/proc/self/oom_score_adj", "1000")
    except OSError:
        pass  # no /proc here, or already decided above us


def lower(which: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, never above the one already in force."""
    _, most = resource.getrlimit(which)
    wanted = soft if hard is None else hard
    if most != resource.RLIM_INFINITY:
        wanted, soft = min(wanted, most), min(soft, most)
    resource.setrlimit(which, (soft, wanted))


def forgo_privileges(report: Report) -> None:
    """Give up every capability, now and through any program executed later."""
    capability = 0
    while LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    given_up = LIBC.capset(header, (ctypes.c_uint32 * 6)()) == 0
    # For an ordinary user an empty set stays empty; root regains what the bounding set still holds.
    if given_up and (capability > 0 or os.getuid() != 0):
        report.say("wall", "no_capabilities")
    if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        report.say("wall", "no_new_privileges")


# --- watch -----------------------------------------------------------------------------------------------


def supervise(order: Order, report: Report, child: int, control: int, *, enclosed: bool) -> int:
    """Wait for the end, or make it: afterwards nothing of the tree is left. The largest memory seen."""
    poller = select.poll()
    poller.register(control, select.POLLIN | select.POLLHUP)
    try:  # noqa: SIM105 - contextlib costs every launch its import
        poller.register(os.pidfd_open(child), select.POLLIN)
    except OSError:
        pass  # an old kernel: the end is then noticed at the next tick
    root, peak = child if enclosed else os.getpid(), 0
    while True:
        spoken = any(file == control for file, _ in poller.poll(TICK * 1000))
        if reap(report, child, enclosed=enclosed):
            child = 0
            break
        if spoken or os.getppid() != order.owner:
            break
        now = usage(root, order.memory, order.processes)
        peak = max(peak, now.memory)
        if verdict := exceeded(order, now):
            report.say("stopped", *verdict)
            break
    end(child, enclosed=enclosed)
    return peak


def reap(report: Report, child: int, *, enclosed: bool) -> bool:
    """Collect whoever has ended; whether our child was among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False
        if pid == child:
            if not enclosed:
                report.say("ended", os.waitstatus_to_exitcode(status))
            return True


def exceeded(order: Order, now: Usage) -> tuple[str, float] | None:
    """The limit that the tree is over, with how much it uses."""
    if order.memory is not None and now.memory > order.memory:
        return "memory", now.memory
    if order.cpu is not None and now.cpu > order.cpu:
        return "cpu", now.cpu
    if order.processes is not None and now.tasks > order.processes:
        return "processes", now.tasks
    return None


def usage(root: int, most: int | None, enough: int | None = None) -> Usage:
    """What everything below `root` uses now, including processor time of those who have ended.

    Shared pages are told apart only where it matters, beyond `most` bytes: that is slow to ask. Nobody is
    counted beyond `enough` processes: some trees grow faster than they can be walked.
    """
    total, resident = Usage(), {}
    for count, pid in enumerate(descendants(root, root)):
        if count > (MANY if enough is None else enough) + 1:
            break
        fields = stat(pid)
        if not fields:
            continue
        ended_ticks = int(fields[13]) + int(fields[14])
        total.cpu += ended_ticks / HERTZ
        if pid != root:
            total.cpu += (int(fields[11]) + int(fields[12])) / HERTZ
            total.tasks += int(fields[17])
            resident[pid] = int(fields[21]) * PAGE
    total.memory = sum(resident.values())
    if most is not None and total.memory > most and len(resident) > 1:
        total.memory = sum(share(pid, size) for pid, size in resident.items())
    return total


def stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on; empty if the process has gone."""
    text = read(f"/proc/{pid}/stat")
    return text[text.rfind(b")") + 2 :].split()


def share(pid: int, resident: int) -> int:
    """A process's resident size, with pages that it shares divided among those who share them."""
    for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident


def descendants(root: int, *first: int) -> Iterator[int]:
    """Every process below `root`, as they are met; those named come first."""
    below = children if os.access("/proc/thread-self/children", os.R_OK) else children_by_parent()
    yield from first
    waiting = [root]
    while waiting:
        new = below(waiting.pop())
        yield from new
        waiting += new


def children(pid: int) -> list[int]:
    """The children of every thread of a process."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - pathlib costs every launch its import
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        found += map(int, read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def children_by_parent() -> Callable[[int], list[int]]:
    """The same from one walk over all processes, for kernels that keep no lists of children."""
    families: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib costs every launch its import
        if name.isdecimal() and (fields := stat(int(name))):
            families.setdefault(int(fields[1]), []).append(int(name))
    return lambda pid: families.get(pid, [])


def read(path: str) -> bytes:
    """A small file of /proc; empty if it has gone."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs every launch its import
            return file.read()
    except OSError:
        return b""


def write(path: str, text: str) -> None:
    """One write to a file of /proc."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


# --- end -------------------------------------------------------------------------------------------------


def end(child: int, *, enclosed: bool) -> None:
    """End what is left. The kernel does it for a PID namespace: its init is dead only when all are."""
    if child:
        signal(child, SIGKILL)
    for _ in range(PATIENCE):
        if reaped_all():
            return
        if not enclosed:
            stop_and_kill()
        select.poll().poll(1)


def stop_and_kill() -> None:
    """Halt everybody first, until nobody new appears, so that no one forks while others are killed.

    Whole groups at once: a signal to a group reaches also who is just being forked in it, so nobody runs
    away from it. The program began a session of its own, so its groups hold nobody but its descendants.
    """
    halted: set[int] = set()
    targets: set[int] = set()
    found = True
    while found:
        found = False
        for pid in descendants(os.getpid()):
            if pid not in halted:
                halted.add(pid)
                targets.add(target := group_of(pid))
                signal(target, SIGSTOP)
                found = True
    for target in targets:
        signal(target, SIGKILL)


def group_of(pid: int) -> int:
    """Whom to signal to reach a process and its group; itself alone, while it is still in ours."""
    fields = stat(pid)
    group = int(fields[2]) if fields else 0
    return pid if group in (0, 1, os.getpgrp()) else -group


def reaped_all() -> bool:
    """Collect the dead; whether no child is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def signal(pid: int, number: int) -> None:
    """Send a signal to somebody who may have gone."""
    try:  # noqa: SIM105 - contextlib costs every launch its import
        os.kill(pid, number)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    main()
