"""Outside programs: found or fetched by hash, run under limits.

    finished = await run(["/usr/bin/helm", "version"], limits=Limits(memory=256 * 1024 * 1024))

The doers come from here; `limits` and `handover` are pure and may be imported by themselves. Nothing here
reads the environment: PATH and variables are arguments, the rest is `ProgramsSettings`.
"""

from trimtab.programs.finding import Program, find
from trimtab.programs.launching import Launches
from trimtab.programs.limits import Finished, Limits, ProgramStopped, Walls, limits_of
from trimtab.programs.progress import NotKept, Progress, Tell, said_once, silently
from trimtab.programs.running import run, walls

__all__ = [
    "Finished",
    "Launches",
    "Limits",
    "NotKept",
    "Program",
    "ProgramStopped",
    "Progress",
    "Tell",
    "Walls",
    "find",
    "limits_of",
    "run",
    "said_once",
    "silently",
    "walls",
]
