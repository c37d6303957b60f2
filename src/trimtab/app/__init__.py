"""The composition root: from settings and a cluster to running rooms; the only room that knows them all.

async with open_apps(access, settings, path=path) as apps, apps.work_on(unit) as work:
plan = await work.plan(operation)
state = await work.carry_out(operation, plan)
"""

from typing import TYPE_CHECKING

from trimtab.doors import opened_when_asked

if TYPE_CHECKING:
    from trimtab.app.apps import Apps, Work
    from trimtab.app.opening import open_apps
    from trimtab.app.sources import open_manifests
else:
    __getattr__ = opened_when_asked(
        __name__,
        {"apps": ("Apps", "Work"), "opening": ("open_apps",), "sources": ("open_manifests",)},
    )

__all__ = ["Apps", "Work", "open_apps", "open_manifests"]
