"""Server-side applies in process, without HTTP: `python -m bench.inprocess --count 1000`.

Prints one line of JSON, as the other programs of the benchmarks do; with `--profile` where the time went.
"""

from __future__ import annotations

import argparse
import sys
import time

import msgspec

from bench.client import CONFIG_MAPS, applied
from bench.measures import Sample
from bench.memory import peak_bytes
from bench.sampling import biggest_costs, profiled
from bench.shapes import config_map
from trimtab.apiserver import MemoryCluster
from trimtab.tasks.loops import run_main

NAMESPACE = "default"
#: costs that are told
COUNT = 3


async def measured(count: int) -> Sample:
    """Apply so many ConfigMaps that differ in one key from what is there."""
    cluster = MemoryCluster()
    before, after = ([config_map(number, state=state) for number in range(count)] for state in (0, 1))
    await applied(cluster, CONFIG_MAPS, NAMESPACE, before, 1)
    start, used = time.monotonic(), time.process_time()
    items = await applied(cluster, CONFIG_MAPS, NAMESPACE, after, 1)
    return Sample(
        items=items,
        seconds=time.monotonic() - start,
        cpu_seconds=time.process_time() - used,
        peak_bytes=peak_bytes(),
    )


def main(arguments: list[str]) -> int:
    """Measure, or profile, and print one line."""
    parser = argparse.ArgumentParser(prog="python -m bench.inprocess", description=__doc__)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args(arguments)
    if not options.profile:
        print(msgspec.json.encode(run_main(measured(options.count))).decode())
        return 0
    with profiled() as profile:
        run_main(measured(options.count))
    print(msgspec.json.encode(biggest_costs(profile.seconds, COUNT)).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
