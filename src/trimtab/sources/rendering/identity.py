"""When two renders are the same one: questions, keys, and notes of what was read. Pure.

A question is what somebody asked for, whatever the revision. A key adds what was read to answer it. The notes
of the last answers are kept under the question, so that an unchanged answer is found without reading again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from trimtab.sources.rendering.jobs import Job
from trimtab.sources.rendering.looking import still_true
from trimtab.sources.rendering.rendered import Look, Tool
from trimtab.sources.rendering.sealing import Seal
from trimtab.sources.trees import Tree

#: raised whenever the same input would give another result
FORMAT: Final = 2
#: answers remembered for one question: branches and rollbacks go to and fro
_MOST_TRACES: Final = 8


class Trace(Struct, frozen=True, kw_only=True):
    """How one answer came about: by which tool, for which cluster, from what."""

    tool: Tool
    version: str
    capabilities: str
    looks: tuple[Look, ...]
    roots: tuple[Look, ...]
    key: str


class Record(Struct, frozen=True, kw_only=True):
    """The last answers to one question, the newest first."""

    traces: tuple[Trace, ...] = ()


def question(job: Job, seal: Seal) -> str:
    """Names what is asked for."""
    return seal.name([FORMAT, *_asked(job)])


def trace_of(job: Job, tool: Tool, looks: tuple[Look, ...], roots: tuple[Look, ...], seal: Seal) -> Trace:
    """The notes of an answer, with its key."""
    version, capabilities = version_for(tool, job), _capabilities(tool, job, seal)
    read = [[look.source, look.path, look.question, look.answer] for look in looks]
    key = seal.name([FORMAT, tool.value, version, capabilities, *_asked(job), read])
    return Trace(tool=tool, version=version, capabilities=capabilities, looks=looks, roots=roots, key=key)


def version_for(tool: Tool, job: Job) -> str:
    """The version of the program that a tool needs; empty if it needs none."""
    return "" if tool is Tool.DIRECTORY else job.programs.get(tool.value, "")


def known_answer(record: Record, job: Job, trees: Mapping[str, Tree], seal: Seal) -> Trace | None:
    """The answer that would come out again, if there is one."""
    for trace in record.traces:
        if (
            trace.version == version_for(trace.tool, job)
            and trace.capabilities == _capabilities(trace.tool, job, seal)
            and still_true(trace.looks, trees, trace.roots)
        ):
            return trace
    return None


def remembered(record: Record, trace: Trace) -> Record:
    """The record with one more answer."""
    others = tuple(each for each in record.traces if each.key != trace.key)
    return Record(traces=(trace, *others)[:_MOST_TRACES])


def _asked(job: Job) -> list[Any]:
    bounds = [job.bounds.files, job.bounds.bytes]
    # Only those who have them have to be told apart by them.
    more = ["lfs"] if job.lfs else []
    return [job.name, job.namespace, msgspec.to_builtins(job.spec), bounds, list(job.remotes), *more]


def _capabilities(tool: Tool, job: Job, seal: Seal) -> str:
    """What the cluster can do, where it matters."""
    return seal.name(msgspec.to_builtins(job.capabilities)) if tool is Tool.HELM else ""
