"""One act at a time against a cluster: what is sent, and what becomes of refusals."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.engine.sync.leaping import Leaping
from tests.engine.views import Case, config_map, job, key_of, live_of, manifest
from trimtab.apiserver import MemoryCluster
from trimtab.engine.cache.records import judged_by
from trimtab.engine.operations import Operation
from trimtab.engine.sync.acts import Act, Clear, Discard, Look, Outcome, Rehearse, Release
from trimtab.engine.sync.apply import Performer, WriteSettings
from trimtab.engine.sync.kinds import Kinds
from trimtab.engine.sync.options import SyncOptions
from trimtab.engine.sync.plan import Namespace
from trimtab.engine.sync.steps import Prune, Refuse, SyncPlan
from trimtab.errors import ClusterUnreachable, Unavailable
from trimtab.kube.cluster import FieldValidation, Propagation
from trimtab.kube.failures import ChangedMeanwhile, InvalidObject, Status
from trimtab.resources.manifests import Manifest
from trimtab.tasks import ManualClock, SystemClock

SPACE = "shop"


class Spied:
    """A cluster in memory that writes down what is asked of it, and fails where it is told to."""

    def __init__(self) -> None:
        self.cluster = MemoryCluster()
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.failing: dict[str, list[Exception | None]] = {}
        #: what fails is done all the same: only its answer is lost
        self.deaf = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.cluster, name)
        if name not in {"get", "create", "update", "patch", "apply", "delete"}:
            return real

        async def call(resource: Any, *args: Any, **options: Any) -> Any:
            said = args[0] if args and isinstance(args[0], str) else ""
            self.calls.append((name, said, {**options, "body": args[-1] if args else None}))
            planned = self.failing.get(name)
            problem = planned.pop(0) if planned else None
            if problem is not None:
                if self.deaf:
                    await real(resource, *args, **options)
                raise problem
            return await real(resource, *args, **options)

        return call

    def said(self) -> list[str]:
        return [f"{verb} {name}".strip() for verb, name, _ in self.calls]

    def last(self, verb: str) -> dict[str, Any]:
        return next(options for said, _, options in reversed(self.calls) if said == verb)


class Stage:
    """A spied cluster with its namespace, and a performer."""

    def __init__(self, spied: Spied, *, exact: bool = False, clock: Any = None) -> None:
        self.spied, self.exact, self.clock = spied, exact, clock or SystemClock()

    async def perform(self, act: Act | Refuse, plan: SyncPlan) -> Outcome:
        assert not isinstance(act, Refuse)
        cluster: Any = self.spied
        kinds = Kinds(cluster, self.clock, await self.spied.cluster.discover(), plan.steps)
        performer = Performer(
            cluster, kinds, self.clock, judged_by(), WriteSettings(), exact=self.exact, watched=True
        )
        return await performer.perform(act)

    async def write(self, *manifests: Manifest) -> None:
        discovery = await self.spied.cluster.discover()
        for each in manifests:
            resource = discovery.resource(str(each["apiVersion"]), str(each["kind"]))
            assert resource is not None
            await self.spied.cluster.create(resource, each, namespace=SPACE)

    async def read(self, each: Manifest) -> Manifest | None:
        discovery = await self.spied.cluster.discover()
        resource = discovery.resource(str(each["apiVersion"]), str(each["kind"]))
        assert resource is not None
        found = [
            one
            async for page in self.spied.cluster.list(resource, namespace=SPACE)
            for one in page.objects
            if one.metadata.name == each["metadata"]["name"]
        ]
        return found[0].manifest() if found else None


@pytest.fixture
async def stage() -> Stage:
    spied = Spied()
    namespaces = (await spied.cluster.discover()).preferred("", "Namespace")
    assert namespaces is not None
    await spied.cluster.create(namespaces, {"metadata": {"name": SPACE}})
    return Stage(spied)


def runnable(name: str, **fields: Any) -> Manifest:
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}
    return {**job(name, **fields), "spec": {"template": pods}}


async def test_an_object_costs_one_request(stage: Stage) -> None:
    plan = Case().missing(config_map("a", x="1")).plan()
    outcome = await stage.perform(plan.steps[0], plan)
    assert stage.spied.said() == ["apply a"]
    assert (outcome.problem, outcome.message) == ("", "created")
    told = stage.spied.last("apply")
    assert (told["force"], told["write"].manager, told["write"].dry_run) == (True, "trimtab", False)
    found = await stage.read(config_map("a"))
    assert found is not None
    assert (found["metadata"]["uid"], found["metadata"]["resourceVersion"]) == (
        outcome.uid,
        outcome.resource_version,
    )


@pytest.mark.fact("S1", "S20")
async def test_what_is_made_whole_is_read_strictly_unless_that_is_switched_off(stage: Stage) -> None:
    replaced = [
        config_map("a", options="Replace=true"),
        config_map("b", options="Replace=true,Validate=false"),
    ]
    plan = Case().missing(*replaced).plan()
    for step, validation in zip(plan.steps, (FieldValidation.STRICT, FieldValidation.IGNORE), strict=True):
        await stage.perform(step, plan)
        assert stage.spied.last("create")["write"].validation is validation


@pytest.mark.parametrize("options", ["", "Validate=false"])
async def test_an_apply_of_a_field_that_nobody_knows_is_refused_though_it_is_not_read_twice(
    stage: Stage, options: str
) -> None:
    plan = Case().missing(config_map("a", options=options) | {"dta": {"x": "y"}}).plan()
    outcome = await stage.perform(plan.steps[0], plan)
    assert stage.spied.last("apply")["write"].validation is FieldValidation.IGNORE
    assert ".dta: field not declared in schema" in outcome.problem
    assert await stage.read(config_map("a")) is None


@pytest.mark.fact("S23")
async def test_a_rehearsal_asks_the_server_and_changes_nothing(stage: Stage) -> None:
    plan = Case().missing(config_map("a")).hook(runnable("pre")).plan()
    for step in plan.steps:
        assert not isinstance(step, Prune | Refuse)
        outcome = await stage.perform(Rehearse(step), plan)
        assert outcome.message == "accepted"
        assert stage.spied.last("apply")["write"].dry_run
    assert await stage.read(config_map("a")) is None


async def test_a_webhook_that_takes_no_part_in_rehearsals_fails_none(stage: Stage) -> None:
    plan = Case().missing(config_map("a")).plan()
    words = 'admission webhook "x.example.com" does not support dry run'
    stage.spied.failing["apply"] = [InvalidObject("it", words, status=Status(code=400))]
    step: Any = plan.steps[0]
    assert (await stage.perform(Rehearse(step), plan)).problem == ""


@pytest.mark.fact("S2", "S59")
async def test_what_the_server_refuses_becomes_the_outcome(stage: Stage) -> None:
    plan = Case().missing(config_map("a")).plan()
    stage.spied.failing["apply"] = [
        InvalidObject(
            "apply a", 'error when creating "/dev/shm/1": no', "Correct it.", status=Status(code=422)
        )
    ]
    assert (await stage.perform(plan.steps[0], plan)).problem == "no. Correct it."


async def test_an_agreed_plan_names_the_identity_it_expects(stage: Stage) -> None:
    case = Case().drifted(config_map("a", x="1"))
    await stage.write(config_map("a", x="0"))
    stage.exact = True
    outcome = await stage.perform(case.plan().steps[0], case.plan())
    assert stage.spied.last("apply")["body"]["metadata"]["uid"] == "uid-a"
    assert "uid" in outcome.problem


@pytest.mark.fact("S21")
async def test_replace_writes_the_whole_object_over_what_is_there(stage: Stage) -> None:
    await stage.write(config_map("a", old="1"))
    plan = Case().drifted(config_map("a", options="Replace=true", new="1")).plan()
    stage.spied.failing["update"] = [ChangedMeanwhile("a", "changed", status=Status(code=409))]
    outcome = await stage.perform(plan.steps[0], plan)
    assert (outcome.problem, outcome.message) == ("", "replaced")
    assert stage.spied.said() == ["get a", "update a", "get a", "update a"]
    found = await stage.read(config_map("a"))
    assert found is not None
    assert found["data"] == {"new": "1"}


@pytest.mark.fact("S21")
async def test_replace_creates_what_is_not_there(stage: Stage) -> None:
    plan = Case().missing(config_map("a", options="Replace=true")).plan()
    assert (await stage.perform(plan.steps[0], plan)).message == "created"
    assert [said.split()[0] for said in stage.spied.said()] == ["get", "create"]


@pytest.mark.fact("S21", "S24")
async def test_force_makes_an_object_anew_but_never_a_namespace(stage: Stage) -> None:
    await stage.write(config_map("a", old="1"))
    before = await stage.read(config_map("a"))
    plan = Case().drifted(config_map("a", options="Replace=true,Force=true")).plan()
    assert (await stage.perform(plan.steps[0], plan)).message == "deleted and created"
    after = await stage.read(config_map("a"))
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    space = manifest("Namespace", SPACE, annotations={"trimtab.dev/sync-options": "Replace=true,Force=true"})
    spaces = Case().drifted(space).plan()
    assert (await stage.perform(spaces.steps[0], spaces)).message == "replaced"


@pytest.mark.fact("S24")
async def test_what_cannot_be_made_anew_is_put_back(stage: Stage) -> None:
    await stage.write(config_map("a", old="1"))
    plan = Case().drifted(config_map("a", new="1")).plan(Operation(force=True))
    no = InvalidObject("apply a", "no", status=Status(code=422))
    stage.spied.failing["apply"] = [no, no]
    assert (await stage.perform(plan.steps[0], plan)).problem == "no"
    found = await stage.read(config_map("a"))
    assert found is not None
    assert found["data"] == {"old": "1"}


async def test_an_object_that_does_not_go_is_not_waited_for_for_ever(stage: Stage) -> None:
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.com/never"]
    await stage.write(held)
    stage.clock = _Hasty()
    plan = Case().drifted(config_map("a", options="Replace=true,Force=true")).plan()
    assert "does not go away" in (await stage.perform(plan.steps[0], plan)).problem


class _Hasty(ManualClock):
    """Nobody waits on it."""

    async def sleep(self, seconds: float) -> None:
        return


async def test_an_object_without_a_name_is_created(stage: Stage) -> None:
    unnamed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}
    plan = Case().missing(unnamed).plan()
    assert (await stage.perform(plan.steps[0], plan)).message == "created"
    assert stage.spied.said() == ["create"]


@pytest.mark.fact("S45")
async def test_a_prune_names_the_identity_and_how_its_own_go_along(stage: Stage) -> None:
    await stage.write(config_map("a"))
    found = await stage.read(config_map("a"))
    assert found is not None
    case = Case().unwanted(config_map("a"))
    plan = case.plan(Operation(prune=True))
    other = await stage.perform(plan.steps[0], plan)
    assert "uid" in other.problem.lower()
    row = case.rows[0]
    live = live_of(config_map("a"), uid=found["metadata"]["uid"])
    case.rows[0] = type(row)(key=row.key, desired=None, live=live, verdict=row.verdict)
    plan = case.plan(Operation(prune=True))
    assert (await stage.perform(plan.steps[0], plan)).message == "pruned"
    assert stage.spied.last("delete")["how"].propagation is Propagation.FOREGROUND


async def test_what_is_gone_already_counts_as_pruned(stage: Stage) -> None:
    plan = Case().unwanted(config_map("a")).plan(Operation(prune=True))
    assert (await stage.perform(plan.steps[0], plan)).message == "pruned (it was gone already)"


@pytest.mark.fact("S29", "S27")
async def test_a_hook_is_made_under_its_name_with_our_finalizer(stage: Stage) -> None:
    unnamed = runnable("x")
    unnamed["metadata"] = {"generateName": "pre-", "annotations": {"trimtab.dev/hook": "PreSync"}}
    plan = Case().hook(unnamed).plan()
    outcome = await stage.perform(plan.steps[0], plan)
    body = stage.spied.last("apply")["body"]
    assert outcome.problem == ""
    assert body["metadata"]["name"] == "pre-4f2c9e1-presync-1767268800"
    assert body["metadata"]["namespace"] == SPACE
    assert body["metadata"]["finalizers"] == ["trimtab.dev/hook-finalizer"]
    assert "finalizers" not in unnamed["metadata"]


@pytest.mark.fact("S34", "S35", "S36")
async def test_hooks_are_freed_and_deleted_even_while_others_change_them(stage: Stage) -> None:
    left = runnable("pre")
    left["metadata"]["finalizers"] = [
        "trimtab.dev/hook-finalizer",
        "argocd.argoproj.io/hook-finalizer",
        "x.y/other",
    ]
    await stage.write(left)
    found = await stage.read(left)
    assert found is not None
    uid = found["metadata"]["uid"]
    plan = Case().hook(runnable("pre")).plan()
    hook: Any = plan.steps[0]
    stage.spied.failing["patch"] = [ChangedMeanwhile("pre", "changed", status=Status(code=409))]
    assert (await stage.perform(Release(hook, uid), plan)).problem == ""
    freed = await stage.read(left)
    assert freed is not None
    assert freed["metadata"]["finalizers"] == ["x.y/other"]
    assert (await stage.perform(Release(hook, "another"), plan)).problem == ""
    assert (await stage.perform(Clear(hook, uid, True), plan)).problem == ""
    going = await stage.read(left)
    assert going is not None
    assert going["metadata"]["deletionTimestamp"]
    gone = Case().hook(runnable("gone")).plan()
    step: Any = gone.steps[0]
    assert (await stage.perform(Discard(step, "x"), gone)).problem == ""


@pytest.mark.fact("S10")
async def test_looking_tells_what_is_there_or_that_nothing_is_or_that_nobody_knows(stage: Stage) -> None:
    plan = Case().missing(config_map("a")).plan()
    step: Any = plan.steps[0]
    assert (await stage.perform(Look(step), plan)).seen is None
    await stage.write(config_map("a"))
    seen = (await stage.perform(Look(step), plan)).seen
    assert seen is not None
    assert seen.key == key_of(config_map("a"))
    stage.spied.failing["get"] = [ClusterUnreachable("get a", "no answer")]
    unknown = await stage.perform(Look(step), plan)
    assert (unknown.known, unknown.problem) == (False, "")


async def test_a_namespace_is_applied_with_what_the_unit_says_of_it(stage: Stage) -> None:
    wanted = Namespace(name="new", labels={"team": "shop"}, annotations={"a": "b"})
    plan = Case().missing(config_map("a")).plan(options=SyncOptions(create_namespace=True), namespace=wanted)
    outcome = await stage.perform(plan.steps[0], plan)
    assert outcome.problem == ""
    assert stage.spied.last("apply")["body"] == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "new", "labels": {"team": "shop"}, "annotations": {"a": "b"}},
    }


async def test_a_server_that_never_answers_fails_the_step(stage: Stage) -> None:
    stage.clock = Leaping()
    plan = Case().missing(config_map("a")).plan()
    stage.spied.failing["apply"] = [UNHEARD] * 1000
    assert (await stage.perform(plan.steps[0], plan)).problem == "no answer"
    assert len(stage.spied.calls) > 5


UNHEARD = Unavailable("a", "no answer")


@pytest.mark.parametrize(
    ("verb", "case"),
    [
        ("apply", Case().missing(config_map("a"))),
        ("create", Case().missing(config_map("a", options="Replace=true"))),
    ],
)
@pytest.mark.parametrize("done", [True, False])
async def test_a_write_without_an_answer_is_made_again_whether_it_was_done_or_not(
    stage: Stage, verb: str, case: Case, *, done: bool
) -> None:
    stage.clock = Leaping()
    plan = case.plan()
    stage.spied.failing[verb] = [UNHEARD]
    stage.spied.deaf = done
    outcome = await stage.perform(plan.steps[0], plan)
    assert outcome.problem == ""
    assert await stage.read(config_map("a")) is not None


@pytest.mark.parametrize("done", [True, False])
async def test_a_deletion_without_an_answer_is_made_again_whether_it_was_done_or_not(
    stage: Stage, *, done: bool
) -> None:
    stage.clock = Leaping()
    await stage.write(config_map("a"))
    found = await stage.read(config_map("a"))
    assert found is not None
    plan = Case().unwanted(config_map("a")).plan(Operation(prune=True))
    (step,) = plan.steps
    assert isinstance(step, Prune)
    meant = replace(step, expected=replace(step.expected, uid=found["metadata"]["uid"]))
    stage.spied.failing["delete"] = [UNHEARD]
    stage.spied.deaf = done
    outcome = await stage.perform(meant, plan)
    left = await stage.read(config_map("a"))
    assert left is not None
    assert (outcome.problem, "deletionTimestamp" in left["metadata"]) == ("", True)


async def test_a_replacement_without_an_answer_is_made_again(stage: Stage) -> None:
    stage.clock = Leaping()
    await stage.write(config_map("a", old="1"))
    plan = Case().drifted(config_map("a", options="Replace=true", new="1")).plan()
    stage.spied.failing["update"] = [UNHEARD]
    stage.spied.deaf = True
    outcome = await stage.perform(plan.steps[0], plan)
    found = await stage.read(config_map("a"))
    assert found is not None
    assert (outcome.problem, found["data"]) == ("", {"new": "1"})


async def test_an_unnamed_object_is_not_made_twice_for_want_of_an_answer(stage: Stage) -> None:
    stage.clock = Leaping()
    unnamed = {**config_map("a"), "metadata": {"generateName": "a-"}}
    plan = Case().missing(unnamed).plan()
    stage.spied.failing["create"] = [UNHEARD]
    assert (await stage.perform(plan.steps[0], plan)).problem == "no answer"
    assert stage.spied.said() == ["create"]
