"""All known differences that requests show, by the page of the documentation that tells of them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.differing.asking import Differences
from tests.differing.cluster import CLUSTER
from tests.differing.kinds import KINDS
from tests.differing.merging import MERGING
from tests.differing.rarer import RARER

PAGES: Mapping[str, Differences] = {
    "embedded-cluster": CLUSTER,
    "merging": MERGING,
    "kinds-data": {**KINDS, **RARER},
}
