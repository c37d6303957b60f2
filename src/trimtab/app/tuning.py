"""What a command line changes about how a chart or an overlay is rendered. Pure.

What was recorded of an app before stays in force: a value is changed by naming it again, and all are taken
back together. Whether the source is a chart or an overlay is not known here; a render says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import InvalidSpec
from trimtab.sources.rendering.specs import Helm, Kustomize, Parameter, SourceSpec


class Tuning(Struct, frozen=True, kw_only=True):
    """What is said about values of charts and overlays; None and nothing mean that nothing is said."""

    #: forget what was recorded before
    reset: bool = False
    #: values files, which take the place of those that were recorded
    files: tuple[str, ...] = ()
    #: values as `key=value`, and those that are texts whatever they look like
    values: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    #: as `kustomize edit set image` takes them
    images: tuple[str, ...] = ()
    name_prefix: str | None = None
    name_suffix: str | None = None

    @property
    def is_for_helm(self) -> bool:
        """Whether something is said that charts alone understand."""
        return bool(self.files or self.values or self.texts)

    @property
    def is_for_kustomize(self) -> bool:
        """Whether something is said that overlays alone understand."""
        return bool(self.images) or self.name_prefix is not None or self.name_suffix is not None


def tuned(spec: SourceSpec, tuning: Tuning, subject: str) -> SourceSpec:
    """What is asked of a source, with what is said now."""
    if tuning.reset:
        spec = replace(spec, helm=None, kustomize=None)
    if tuning.is_for_helm and tuning.is_for_kustomize:
        reason = "it is a chart or an overlay, and values for both are given"
        raise InvalidSpec(subject, reason, "Keep those of one")
    if tuning.is_for_helm:
        _check_other(spec.kustomize, subject, "a Kustomize overlay")
        spec = replace(spec, helm=_helm(spec.helm or Helm(), tuning))
    if tuning.is_for_kustomize:
        _check_other(spec.helm, subject, "a Helm chart")
        spec = replace(spec, kustomize=_kustomize(spec.kustomize or Kustomize(), tuning))
    return spec


def _check_other(recorded: object, subject: str, words: str) -> None:
    if recorded is not None:
        reason = f"it is recorded with values of {words}"
        raise InvalidSpec(subject, reason, "Name such values, or forget those with --reset-values")


def _helm(helm: Helm, tuning: Tuning) -> Helm:
    said = [*(_parameter(each) for each in tuning.values)]
    said += [replace(_parameter(each), force_string=True) for each in tuning.texts]
    parameters = {each.name: each for each in (*helm.parameters, *said)}
    return replace(helm, value_files=tuning.files or helm.value_files, parameters=tuple(parameters.values()))


def _parameter(text: str) -> Parameter:
    name, is_set, value = text.partition("=")
    if not (name and is_set):
        raise InvalidSpec(f"value {name}", "it says no key=value", "Write it as image.tag=1.4")
    return Parameter(name=name, value=value)


def _kustomize(kustomize: Kustomize, tuning: Tuning) -> Kustomize:
    prefix, suffix = tuning.name_prefix, tuning.name_suffix
    return replace(
        kustomize,
        images=_images((*kustomize.images, *tuning.images)),
        name_prefix=kustomize.name_prefix if prefix is None else prefix,
        name_suffix=kustomize.name_suffix if suffix is None else suffix,
    )


def _images(texts: Iterable[str]) -> tuple[str, ...]:
    """Images, of each name the one that was said last."""
    return tuple({_image_name(each): each for each in texts}.values())


def _image_name(text: str) -> str:
    """The name that an image has in the overlay: `old` of `old=new:tag`, else what comes before the tag."""
    name, is_replaced, _ = text.partition("=")
    if is_replaced:
        return name
    bare = text.partition("@")[0]
    head, _, last = bare.rpartition("/")
    return f"{head}/{last.partition(':')[0]}" if head else last.partition(":")[0]
