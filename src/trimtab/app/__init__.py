"""The composition root: from settings and a cluster to running rooms; the only room that knows them all.

async with open_apps(access, settings, path=path) as apps, apps.work_on(unit) as work:
plan = await work.plan(operation)
state = await work.carry_out(operation, plan)
"""

from trimtab.app.apps import Apps, Work, open_apps
from trimtab.app.sources import open_manifests

__all__ = ["Apps", "Work", "open_apps", "open_manifests"]
