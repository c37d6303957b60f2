"""The doctor: examines the way to a cluster and this machine, and says what is wrong and what to do.

async for check in examine(reach, settings, path=path, namespace="", clock=clock):
    print(check.name, check.state.value, check.what)
"""

from trimtab.app.doctor.examining import examine

__all__ = ["examine"]
