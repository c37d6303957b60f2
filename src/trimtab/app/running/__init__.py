"""The runner: keeps units in sync for ever, wherever they are written down.

process = Process(connections=connections, settings=settings, path=path, me=me, origin=None, tell=print)
await keep_running(process)
"""

from trimtab.app.running.process import Process, keep_running

__all__ = ["Process", "keep_running"]
