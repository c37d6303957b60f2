"""An agent in sixty lines: keeps a namespace as the YAML files of a folder say, and prints what it does.

    python examples/agent.py FOLDER KUBECONFIG NAMESPACE

What leaves the folder is pruned, what others change is put back; each event is a line of JSON.
"""

import asyncio
import hashlib
import sys
from datetime import timedelta
from pathlib import Path

from trimtab.engine import Engine, GivenClusters, MemoryStore
from trimtab.engine.events import Event, json_line
from trimtab.engine.units import Automated, Destination, Generated, Policy, SyncUnit
from trimtab.kube import connect, from_kubeconfig
from trimtab.resources import yaml
from trimtab.resources.manifests import found_in
from trimtab.settings import ClusterSettings, EngineSettings
from trimtab.tasks import SystemClock


class Folder:
    """Makes manifests of YAML files, away from the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def generate(self, unit: SyncUnit, revision: str, *, no_cache: bool = False) -> Generated:  # noqa: ARG002 - a folder has one state
        """All manifests of the folder as it is now."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> Generated:
        texts = {path: path.read_bytes() for path in sorted(self._path.rglob("*.yaml"))}
        name = hashlib.sha256(b"\0".join(texts.values())).hexdigest()
        documents = [each for path, text in texts.items() for each in yaml.documents(text, path.name)]
        return Generated(manifests=found_in(documents), revision=name[:12], digest=name)


def tell(event: Event) -> None:
    """Print an event."""
    print(json_line(event).decode(), end="", flush=True)


async def main(folder: Path, kubeconfig: Path, namespace: str) -> None:
    """Keep the namespace as the folder says, until somebody ends it."""
    reach, policy = ClusterSettings(), Policy(automated=Automated(prune=True, self_heal=True))
    access = from_kubeconfig([kubeconfig], settings=reach, clock=SystemClock(), environment={})
    place = Destination(cluster="here", namespace=namespace)
    unit = SyncUnit(id="agent", source=str(folder), destination=place, policy=policy)
    settings = EngineSettings(installation="example-agent", refresh_every=timedelta(seconds=5))
    async with connect(access, reach) as cluster:
        engine = Engine(settings, GivenClusters({"here": cluster}), Folder(folder), MemoryStore([unit]))
        engine.events.subscribe(tell)
        await engine.run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
