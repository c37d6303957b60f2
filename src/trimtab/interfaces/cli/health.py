"""`trimtab health`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from trimtab.interfaces.cli.output import Listing, rows_option, show
from trimtab.interfaces.cli.verbs import Invocation
from trimtab.resources.tables import Column

if TYPE_CHECKING:
    from trimtab.resources.yaml import Document, Unread

_COLUMNS = (
    Column("KIND", least=6, spare=1),
    Column("NAMESPACE", spare=3),
    Column("NAME", names=True),
    Column("HEALTH", least=11, painted=True),
    Column("API VERSION", spare=4, wide=True),
    Column("MESSAGE", least=12, spare=2),
)
_WORDS = ("kind", "namespace", "name", "health", "apiVersion", "message")


@click.command()
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    type=click.Path(allow_dash=True),
    help="YAML or JSON as a cluster gives it, `-` for stdin; may be given several times.",
)
@rows_option
@click.pass_obj
def health(invocation: Invocation, files: tuple[str, ...], output: str) -> None:
    """Print how well live objects are, one answer per document and in its order; no cluster is asked.

    The items of a List are answered for one by one. Kinds that have no health get none. A document that
    cannot be read is Unknown and says why, and the exit code is 2; empty ones are no documents, as for
    kubectl.

    \b
    Examples:
      kubectl get deployment web -o yaml | trimtab health -f -
      trimtab health -f live.yaml -o json
    """
    from trimtab.interfaces.cli.files import check_stdin, each_document_in

    check_stdin(files)
    found = each_document_in(files)
    answers = [answer for one in found for answer in answers_for(one)]
    if not answers and output in {"table", "wide"}:
        click.echo("There is no object to judge.", err=True)
    rows = [tuple(each[word] or "-" for word in _WORDS) for each in answers]
    names = [_name(each) for each in answers if each["kind"]]
    show(invocation, Listing(_COLUMNS, rows, names, answers), output)
    _refuse_unread(found)


def _refuse_unread(found: Sequence[Document | Unread]) -> None:
    """Say in the end that some documents could not be read."""
    from trimtab.errors import InvalidSpec
    from trimtab.resources.counting import counted
    from trimtab.resources.yaml import Unread

    errors = [one.error for one in found if isinstance(one, Unread)]
    if errors:
        first, *more = errors
        others = f" ({counted(len(more), 'other document')} cannot be read either)" if more else ""
        raise InvalidSpec(first.subject, f"{first.reason}{others}", first.remedy)


def _name(answer: dict[str, Any]) -> str:
    from trimtab.app.naming import short_name
    from trimtab.resources.keys import ResourceKey

    group = answer["apiVersion"].rpartition("/")[0]
    return short_name(ResourceKey(group, answer["kind"], answer["namespace"], answer["name"]))


def answers_for(document: Document | Unread) -> list[dict[str, Any]]:
    """How well the object of a document is, or each one of a list; what is no object is `Unknown`."""
    from trimtab.engine.health import Health, HealthStatus, health_of
    from trimtab.errors import InvalidSpec
    from trimtab.resources.manifests import flattened
    from trimtab.resources.yaml import Unread

    place = {"file": document.source, "document": document.index + 1, "line": document.line}
    if isinstance(document, Unread):
        return [_answer({}, Health(HealthStatus.UNKNOWN, str(document.error))) | place]
    try:
        found = [each.manifest for each in flattened(document.value, document.where)]
    except InvalidSpec as error:
        return [_answer({}, Health(HealthStatus.UNKNOWN, str(error))) | place]
    return [_answer(manifest, health_of(manifest)) | place for manifest in found]


def _answer(manifest: dict[str, Any], judged: Any) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    return {
        "apiVersion": str(manifest.get("apiVersion") or ""),
        "kind": str(manifest.get("kind") or ""),
        "namespace": str(named.get("namespace") or ""),
        "name": str(named.get("name") or ""),
        "health": judged.status.value if judged else None,
        "message": judged.message if judged else "",
    }
