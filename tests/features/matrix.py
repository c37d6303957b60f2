"""What every verb says in every bad circumstance, as data: a row for a way to call, a column for a trouble.

A cell is the exit code and words of what is said. A call may hold {app}, the app in trouble; {files}, the
folder of its files; {source}, what it is synced from; {repository}, a repository with its files, or one that
is well; {home}, the home of whoever calls; {ten}, a file of ten megabytes.
`tests/features/test_matrix.py` tries every cell; and a column without a cell for a row fails.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct


class Cell(Struct, frozen=True):
    """What a verb answers: the exit code, and words that it says, on stdout or in its one error."""

    code: int
    says: str = ""
    #: somebody presses Ctrl-C when it has said this: it would wait, or run for ever
    until: str = ""
    #: how it is called in this column, if not as its row says
    words: tuple[str, ...] = ()
    #: it shows what another command answers, and that one's error stands before its own
    is_shown: bool = False


class Apart(Struct, frozen=True):
    """The circumstance is none for this verb, and why; it is not tried."""

    why: str


Cells: TypeAlias = dict[str, Cell | Apart]


class Column(Struct, frozen=True, kw_only=True):
    """A circumstance: the app that is in it, the surroundings, and what each row answers."""

    cells: Cells
    app: str = "web"
    #: the app whose files are used, for one that has none
    files: str = ""
    environment: dict[str, str] = {}
    #: options of every verb that asks a cluster
    more: tuple[str, ...] = ()
    disk: Literal["", "full", "read-only"] = ""
    columns: int | None = None
    encoding: str = "utf-8"
    #: whether somebody else works on the app
    held: bool = False
    #: whether it takes the real control plane
    is_real: bool = False


#: how each verb is called: about an app that is recorded, if it is about any
ROWS = {
    "apply": ("apply", "{app}.plan", "--yes"),
    "cluster": ("cluster", "status"),
    "cluster up": ("cluster", "up"),
    "cluster down": ("cluster", "down"),
    "completion": ("completion", "bash"),
    "delete": ("delete", "{app}", "--yes"),
    "delete --abandon": ("delete", "{app}", "--abandon", "--yes"),
    "demo": ("demo",),
    "diff": ("diff", "{app}"),
    "diff of files": ("diff", "-f", "{files}/one.yaml", "--live", "{files}/one.yaml"),
    "doctor": ("doctor",),
    "health": ("health", "-f", "{files}/one.yaml"),
    "history": ("history", "{app}"),
    "install": ("install", "--apply", "--yes", "-n", "runners"),
    "install, printed": ("install", "-n", "runners"),
    "install --remove": ("install", "--remove", "--yes", "-n", "former"),
    "pause": ("pause", "{app}"),
    "plan": ("plan", "{app}"),
    "plan of a source": ("plan", "{source}", "--app", "new", "-n", "new", "--create-namespace"),
    "render": ("render", "{source}", "--app", "{app}"),
    "resume": ("resume", "{app}"),
    "rollback": ("rollback", "{app}", "1", "--yes"),
    "run": ("run", "--listen", "127.0.0.1:0"),
    "run of files": ("run", "--listen", "127.0.0.1:0", "-f", "{files}/units"),
    "run of a repository": ("run", "--listen", "127.0.0.1:0", "--repo", "{repository}", "--path", "declared"),
    "settings": ("settings",),
    "status": ("status", "{app}"),
    "status of all": ("status",),
    "sync": ("sync", "{app}", "--yes"),
    "sync of a source": ("sync", "{source}", "--app", "new", "-n", "new", "--create-namespace", "--yes"),
    "terminate": ("terminate", "{app}"),
    "tree": ("tree", "{app}"),
    "version": ("version",),
    "wait": ("wait", "{app}", "--timeout", "0"),
    "why": ("why", "{app}"),
    "why of an object": ("why", "cm/one", "-n", "{app}"),
}
#: those that ask no cluster
ALONE = (
    "cluster", "cluster up", "cluster down", "completion", "demo", "diff of files", "health",
    "install, printed", "render", "settings", "version",
)  # fmt: skip
REACHING = tuple(row for row in ROWS if row not in ALONE)
#: those that may change a cluster; resuming what is not held does not
WRITING = (
    "apply", "delete", "delete --abandon", "install", "install --remove", "pause", "rollback", "run",
    "run of files", "run of a repository", "sync", "sync of a source", "terminate",
)  # fmt: skip

RUNS = ("run", "run of files", "run of a repository")
OWN = Apart("it has a cluster, a repository and apps of its own")
OF_NO_APP = Apart("it names no app")
NOT_ASKED = Apart(
    "it looks at no other cluster, and is started where somebody has none: without a kubeconfig"
)
NO_CLUSTER = Cell(3, "cluster: none is running. Start one with: trimtab cluster up")
#: one is started, and stopped by the next row
STARTED: Cells = {
    "cluster up": Cell(0, "The cluster is up at"),
    "cluster down": Cell(0, "The cluster is down."),
}
RENDERED = Cell(0, "kind: ConfigMap")
NOTHING_BEGUN = Cell(2, "no operation is under way. Begin one: trimtab sync")
#: what those say that ask no cluster, wherever that is no matter
UNTROUBLED: Cells = {
    "cluster": NO_CLUSTER,
    "cluster up": NOT_ASKED,
    "cluster down": NO_CLUSTER,
    "completion": Cell(0, "_trimtab_completion()"),
    "demo": OWN,
    "diff of files": Cell(0),
    "health": Cell(0, "ConfigMap"),
    "install, printed": Cell(0, "kind: Deployment"),
    "render": RENDERED,
    "settings": Cell(0, "apps.namespace"),
    "version": Cell(0, "trimtab "),
}
#: what those say that name no app, where one app is in trouble
BYSTANDERS: Cells = {
    **dict.fromkeys((*ALONE, "doctor", "install", "install --remove", *RUNS), OF_NO_APP),
    "demo": OWN,
    "plan of a source": OF_NO_APP,
    "run": Cell(0, "asked to end", until=" objects differ"),
    "status of all": Cell(0, "web"),
    "sync of a source": OF_NO_APP,
}
FORGOTTEN = Cell(0, " is forgotten")
#: what is said of an app that is well and has a newer source, wherever nothing is the matter
WELL: Cells = {
    **UNTROUBLED,
    "apply": Cell(0, " is Synced and Healthy"),
    "delete": Cell(0, " is deleted"),
    "delete --abandon": FORGOTTEN,
    "diff": Cell(1, "colour: red"),
    "doctor": Cell(0, "ok "),
    "history": Cell(0, "trimtab sync"),
    "install": Cell(0, "Installed."),
    "install --remove": Cell(0, "Removed from former."),
    "pause": Cell(0, " is paused by ann"),
    "plan": Cell(0, "differs at /data/colour"),
    "plan of a source": Cell(0, "missing"),
    "resume": Cell(0, " was neither paused nor pinned"),
    "rollback": Cell(0, "pinned to entry 1 of its history"),
    "run": Cell(0, "asked to end", until=" objects differ"),
    "run of files": Cell(0, "asked to end", until="of-a-file: OutOfSync"),
    "run of a repository": Cell(0, "asked to end", until="of-a-file: OutOfSync"),
    "status": Cell(0, "OutOfSync"),
    "status of all": Cell(0, "Synced"),
    "sync": Cell(0, " is Synced and Healthy"),
    "sync of a source": Cell(0, "new is Synced and Healthy"),
    "terminate": NOTHING_BEGUN,
    "tree": Cell(0, "OutOfSync"),
    "wait": Cell(4, "Ask why with: trimtab why"),
    "why": Cell(1, "is not as its source wants it"),
    "why of an object": Cell(1, "is not as its source wants it"),
}

UNREACHABLE = Cell(4, "https://127.0.0.1:1 cannot be reached")
NO_FILE = Cell(3, "home/.kube/config: it does not exist. Name one with --kubeconfig or KUBECONFIG")
NO_CONTEXT = Cell(3, 'it has no context "nope". Choose one of its contexts: "toll".')
NO_RIGHT = Cell(2, 'User "nobody" cannot')
NO_APP = Cell(3, "app nope: there is no such app. List them with: trimtab status.")
NO_SOURCE = Cell(3, "app nope: there is no such app, nor a folder of this name. Name a source.")
DELETING = Cell(2, "somebody began to delete it. See it through with trimtab delete going")
WAITS = Cell(130, "bob@elsewhere works on this app; waiting", until="works on this app")
NO_GIT = Cell(4, "the server cannot be reached")
UNREADABLE = Cell(2, "one.yaml, line")
GONE = "there is no such repository"
NO_REPOSITORY = Cell(3, GONE)
NO_ROOM = Cell(4, "No space left on device). Look at")
UNWRITABLE = Cell(4, "Read-only file system. Look at")


#: what those are told who only look
SYNCED_LAST = "which was synced at"


def of_git(answer: Cell) -> Cells:
    """What is said of an app in a repository that cannot be had: whoever needs no source goes on."""
    needing = ("apply", "diff", "plan", "render", "sync", "wait")
    sources = ("plan of a source", "sync of a source")
    return {
        "delete": Cell(0, " is deleted"),
        "delete --abandon": FORGOTTEN,
        "history": Cell(0, "trimtab sync"),
        "pause": Cell(0, " is paused by ann"),
        "resume": Cell(0, " was neither paused nor pinned"),
        "rollback": Cell(0, " is Synced and Healthy, pinned to entry 1 of its history"),
        "run of a repository": Cell(0, "asked to end", until="stay as they were"),
        "status": Cell(0, SYNCED_LAST),
        "terminate": NOTHING_BEGUN,
        "tree": Cell(0, SYNCED_LAST),
        "why": Cell(1, answer.says.removesuffix(" Look at").rstrip(".)")),
        "why of an object": Cell(1, answer.says.removesuffix(" Look at").rstrip(".)")),
        **dict.fromkeys((*needing, *sources), answer),
    }


def of_a_disk(answer: Cell, code: int, reason: str) -> Cells:
    """What is said where nothing can be written: whoever needs a file to do its work says which one it is."""
    file = ("plan", "{files}", "--app", "new", "--out", "{home}/near.plan")
    return {
        **WELL,
        **of_git(answer),
        "cluster up": Cell(code, reason),
        # Its own files are in /tmp where TMPDIR cannot be written to; what it calls has no home.
        "demo": Cell(4, "ended with exit code 4, not 0. What it said stands above.", is_shown=True),
        "doctor": Cell(1, "wrong    disk: "),
        "run": Cell(0, "asked to end", until=".git: "),
        "plan of a source": Cell(code, "near.plan", words=file),
    }


COLUMNS = {
    "no cluster answers": Column(
        environment={"KUBECONFIG": "{nowhere}", "TRIMTAB_CLUSTER__ATTEMPTS": "1"},
        cells={
            **dict.fromkeys(REACHING, UNREACHABLE),
            **UNTROUBLED,
            "doctor": Cell(1, "https://127.0.0.1:1 cannot be reached"),
            **dict.fromkeys(RUNS, Cell(0, "asked to end", until="cannot be reached")),
            **dict.fromkeys(("why", "why of an object"), Cell(1, "The cluster does not answer.")),
        },
    ),
    "no kubeconfig": Column(
        environment={"KUBECONFIG": ""},
        cells={
            **dict.fromkeys(REACHING, NO_FILE),
            **UNTROUBLED,
            **STARTED,
            "doctor": Cell(1, "home/.kube/config: it does not exist"),
        },
    ),
    "wrong context": Column(
        more=("--context", "nope"),
        cells={
            **dict.fromkeys(REACHING, NO_CONTEXT),
            **UNTROUBLED,
            "doctor": Cell(1, 'it has no context "nope"'),
        },
    ),
    "missing rights": Column(
        is_real=True,
        cells={
            **dict.fromkeys(REACHING, NO_RIGHT),
            **UNTROUBLED,
            "doctor": Cell(1, "cannot"),
            **dict.fromkeys(("why", "why of an object"), Cell(1, 'User "nobody" cannot')),
        },
    ),
    "unknown app": Column(
        app="nope",
        files="web",
        cells={
            **dict.fromkeys(ROWS, NO_APP),
            **BYSTANDERS,
            "apply": Cell(0, "nope is Synced and Healthy"),  # the plan holds all there is to know
            "diff": NO_SOURCE,
            "plan": NO_SOURCE,
            "sync": NO_SOURCE,
            "why": Cell(3, "List them with: trimtab status; or name an object, such as deploy/web."),
            "why of an object": Cell(3, "object cm/one: there is none in namespace nope"),
        },
    ),
    "an app that was deleted half-way": Column(
        app="going",
        cells={
            **BYSTANDERS,
            "apply": DELETING,
            "delete": Cell(0, "going is deleted"),
            "delete --abandon": FORGOTTEN,
            "diff": Cell(1, "it is not there"),
            "history": Cell(0, "files:"),
            "pause": Cell(0, "going is paused by ann"),
            "plan": Cell(0, "missing"),
            "resume": Cell(0, "going was neither paused nor pinned"),
            "rollback": Cell(0, "pinned to entry 1 of its history"),
            "status": Cell(0, "Missing"),
            "sync": DELETING,
            "terminate": Cell(0, "the operation was terminated"),
            "tree": Cell(0, "Missing"),
            "wait": Cell(4, "Ask why with: trimtab why going"),
            "why": Cell(1, "App going is being deleted"),
            "why of an object": Cell(3, "object cm/one: there is none in namespace going"),
        },
    ),
    "an app that somebody else works on": Column(
        app="held",
        held=True,
        cells={
            **BYSTANDERS,
            "apply": WAITS,
            "delete": WAITS,
            "delete --abandon": WAITS,
            "diff": Cell(1, "colour: red"),
            "history": Cell(0, "trimtab sync"),
            "pause": Cell(0, "held is paused by ann"),
            "plan": Cell(0, "differs at /data/colour"),
            "resume": Cell(0, "held was neither paused nor pinned"),
            "rollback": WAITS,
            "run": Cell(0, "asked to end", until="is kept here"),  # it waits for Bob, too
            "status": Cell(0, "OutOfSync"),
            "sync": WAITS,
            "terminate": NOTHING_BEGUN,
            "tree": Cell(0, "OutOfSync"),
            "wait": Cell(4, "Ask why with: trimtab why held"),
            **dict.fromkeys(
                ("why", "why of an object"), Cell(1, "ConfigMap held/one is not as its source wants it")
            ),
        },
    ),
    "Git is not reached": Column(
        app="far",
        # What is applied is a commit that was fetched before.
        cells={**BYSTANDERS, **of_git(NO_GIT), "apply": Cell(0, SYNCED_LAST)},
    ),
    "the repository is gone": Column(
        app="adrift",
        cells={
            **BYSTANDERS,
            **of_git(NO_REPOSITORY),
            "status": Cell(0, GONE),
            "tree": Cell(0, GONE),
            "wait": Cell(4, GONE),
        },
    ),
    "broken YAML": Column(
        app="broken",
        cells={
            **BYSTANDERS,
            "apply": UNREADABLE,
            "delete": Cell(0, "broken is deleted"),
            "delete --abandon": FORGOTTEN,
            "diff": UNREADABLE,
            "diff of files": UNREADABLE,
            "health": UNREADABLE,
            "history": Cell(0, "trimtab sync"),
            "pause": Cell(0, "broken is paused by ann"),
            "plan": UNREADABLE,
            "plan of a source": UNREADABLE,
            "render": UNREADABLE,
            "resume": Cell(0, "broken was neither paused nor pinned"),
            "rollback": Cell(0, "broken is Synced and Healthy, pinned to entry 1 of its history"),
            **dict.fromkeys(
                ("run of files", "run of a repository"),
                Cell(0, "of-a-file.yaml, line", until="of-a-file: its file is not followed"),
            ),
            "status": Cell(0, "one.yaml, line"),
            "sync": UNREADABLE,
            "sync of a source": UNREADABLE,
            "terminate": NOTHING_BEGUN,
            "tree": Cell(0, "one.yaml, line"),
            "wait": Cell(4, "one.yaml, line"),
            **dict.fromkeys(("why", "why of an object"), Cell(1, "one.yaml, line")),
        },
    ),
    "ten megabytes of manifests": Column(
        app="big",
        cells={
            **WELL,
            "diff of files": Cell(
                1, "+  name: c9", words=("diff", "-f", "{ten}", "--live", "{files}/c10.yaml")
            ),
            "health": Cell(0, "c10", words=("health", "-f", "{ten}")),
        },
    ),
    "a full disk": Column(
        app="near",
        disk="full",
        environment={"TMPDIR": "{home}", "PATH": "{path}"},
        cells=of_a_disk(NO_ROOM, 4, "no space left on device"),
    ),
    "a home that cannot be written to": Column(
        app="near",
        disk="read-only",
        environment={"TMPDIR": "{home}", "PATH": "{path}"},
        cells=of_a_disk(UNWRITABLE, 2, "read-only file system"),
    ),
    "a terminal of forty columns": Column(
        columns=40,
        cells={
            **WELL,
            **STARTED,
            "health": Cell(0, "Config…"),
            "history": Cell(0, "files:"),
            "plan": Cell(0, "differs at /…"),
        },
    ),
    "no UTF-8": Column(encoding="iso-8859-1", cells={**WELL, **STARTED}),
}
