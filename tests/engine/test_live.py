"""What counts as a decision, and what is mere traffic."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from trimtab.engine.health import Health, HealthStatus
from trimtab.engine.live import Change, Live, Owner
from trimtab.engine.marks import Mark
from trimtab.resources.keys import ResourceKey

KEY = ResourceKey("apps", "Deployment", "shop", "web")
HEALTHY, SAME_STATUS = Health(HealthStatus.HEALTHY), Health(HealthStatus.HEALTHY, "in other words")
LIVE = Live(key=KEY, api_version="apps/v1", uid="u", resource_version="1", digest=b"decided", health=HEALTHY)


@pytest.mark.fact("C43")
@pytest.mark.parametrize(
    ("before", "after", "traffic"),
    [
        (LIVE, replace(LIVE, resource_version="2"), True),
        (LIVE, replace(LIVE, resource_version="2", health=SAME_STATUS), True),
        (LIVE, replace(LIVE, digest=b"otherwise"), False),
        (LIVE, replace(LIVE, health=Health(HealthStatus.DEGRADED)), False),
        (LIVE, replace(LIVE, health=None), False),
        (replace(LIVE, digest=b""), replace(LIVE, digest=b"", resource_version="2"), False),
        (replace(LIVE, digest=b""), LIVE, False),
        (LIVE, replace(LIVE, digest=b""), False),
    ],
)
def test_an_update_is_traffic_exactly_when_neither_the_decided_state_nor_the_health_status_changed(
    before: Live, after: Live, *, traffic: bool
) -> None:
    assert Change(KEY, before, after).is_status_traffic is traffic


@pytest.mark.fact("C44")
def test_what_came_or_went_is_never_traffic() -> None:
    assert not Change(KEY, None, LIVE).is_status_traffic
    assert not Change(KEY, LIVE, None).is_status_traffic


def test_a_root_is_claimed_and_owned_by_nothing() -> None:
    mark, owner = Mark("trimtab", "here/shop"), Owner("o", ResourceKey("", "Service", "shop", "web"))
    assert replace(LIVE, mark=mark).is_root
    assert not LIVE.is_root
    assert not replace(LIVE, mark=mark, owners=(owner,)).is_root
