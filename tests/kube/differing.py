"""All known differences of merging and of kinds, by the page of the documentation that tells of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.kube.differences import Difference
from tests.kube.merging.differing import DIFFERENCES as MERGING
from tests.kube.schemas.differing import DIFFERENCES as KINDS

PAGES: Mapping[str, Sequence[Difference]] = {"merging": MERGING, "kinds-data": KINDS}
