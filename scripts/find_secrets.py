"""Fails when a tracked file seems to hold a secret.

Finding is the work of detect-secrets, without asking any service whether a key is live. What it finds wrongly
stands in `.secrets-allowed.toml` with a reason; an entry there that matches nothing any more fails as well.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from detect_secrets.__version__ import VERSION as DETECT_SECRETS_VERSION
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_file
from detect_secrets.settings import transient_settings

from scripts.bootstrap import cache_folder
from scripts.tracked import tracked_files

ROOT = Path(__file__).resolve().parents[1]
ALLOWED_FILE = ".secrets-allowed.toml"

#: detectors that cry wolf here: hashes are pinned everywhere, and addresses of documentation are public
TOO_NOISY = {"HexHighEntropyString", "IPPublicDetector"}
#: tests plant canaries under such names; keys and tokens with a shape of their own are found there too
FINE_IN_TESTS = {"Secret Keyword", "Basic Auth Credentials", "Base64 High Entropy String"}
TEST_FOLDERS = {"tests", "testbed", "bench"}
FILTERS = [
    f"detect_secrets.filters.heuristic.{name}"
    for name in (
        "is_sequential_string",
        "is_potential_uuid",
        "is_likely_id_string",
        "is_templated_secret",
        "is_prefixed_with_dollar_sign",
        "is_indirect_reference",
        "is_not_alphanumeric_string",
    )
]


class Finding(NamedTuple):
    """Where something looks like a secret; never the secret itself."""

    path: str
    line: int
    kind: str


class Allowed(NamedTuple):
    """Findings of one kind in the files that match `path` are known and harmless, for the reason given."""

    path: str
    kind: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether this entry is about that finding."""
        return finding.kind == self.kind and fnmatch.fnmatch(finding.path, self.path)


def findings(root: Path, paths: Iterable[Path]) -> list[Finding]:
    """What looks like a secret in these files."""
    paths = set(paths)
    tests = {path for path in paths if path.parts[0] in TEST_FOLDERS}
    others = paths - tests
    return sorted(_found(root, others, fine=set()) | _found(root, tests, fine=FINE_IN_TESTS))


def _found(root: Path, paths: Iterable[Path], fine: set[str]) -> set[Finding]:
    """What looks like a secret, but for kinds that are fine: their detectors take most of the time."""
    detectors: dict[str, type] = get_mapping_from_secret_type_to_class()
    names = {kind.__name__ for secret, kind in detectors.items() if secret not in fine}
    config = {
        "plugins_used": [{"name": name} for name in sorted(names - TOO_NOISY)],
        "filters_used": [{"path": path} for path in FILTERS],
    }
    with transient_settings(config):
        return {
            Finding(str(path), secret.line_number, secret.type)
            for path in paths
            for secret in scan_file(str(root / path))
        }


def allowances(root: Path) -> list[Allowed]:
    """The committed exceptions."""
    file = root / ALLOWED_FILE
    entries = tomllib.loads(file.read_text()).get("allowed", []) if file.exists() else []
    return [Allowed(**entry) for entry in entries]


def complaints(found: Iterable[Finding], allowed: Iterable[Allowed]) -> list[str]:
    """One line for every finding that no entry covers, and for every entry that covers no finding."""
    found, allowed = list(found), list(allowed)
    open_findings = [one for one in found if not any(entry.covers(one) for entry in allowed)]
    stale = [entry for entry in allowed if not any(entry.covers(one) for one in found)]
    return [
        *(f"{one.path}:{one.line}: looks like a secret ({one.kind})" for one in open_findings),
        *(f"{ALLOWED_FILE}: {entry.path} has no {entry.kind} any more: remove the entry" for entry in stale),
    ]


def fingerprints(root: Path, paths: Iterable[Path]) -> dict[Path, str]:
    """What a verdict depends on: the file, its place, and the scanner itself."""
    scanner = DETECT_SECRETS_VERSION.encode() + Path(__file__).read_bytes()
    return {
        path: hashlib.sha256(b"\0".join([scanner, bytes(path), (root / path).read_bytes()])).hexdigest()
        for path in paths
    }


def remembered_findings(root: Path, paths: Iterable[Path], memory: Path) -> list[Finding]:
    """As `findings`, but a file that was clean and has not changed since is not read again.

    The memory is of contents, not of a checkout, so a fresh one need not be read again either.
    """
    prints = fingerprints(root, paths)
    clean = set(memory.read_text().split()) if memory.exists() else set()
    found = findings(root, [path for path in prints if prints[path] not in clean])
    dirty = {finding.path for finding in found}
    now_clean = {prints[path] for path in prints if str(path) not in dirty}
    if now_clean != clean:
        _write(memory, sorted(now_clean))
    return found


def _write(memory: Path, clean: Iterable[str]) -> None:
    """Replace the memory in one step: another checkout may be reading it."""
    memory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=memory.parent, delete=False) as file:
        file.write("\n".join(clean))
    Path(file.name).replace(memory)


def main(memory: Path, root: Path = ROOT) -> int:
    """Print what was found and count it as failure."""
    paths = tracked_files(root)
    lines = complaints(remembered_findings(root, paths, memory), allowances(root))
    for line in lines:
        print(line)
    print(f"{len(lines)} complaints" if lines else f"no secrets in {len(paths)} files")
    return 1 if lines else 0


if __name__ == "__main__":
    environment = os.environ  # noqa: TID251 - this is the edge
    sys.exit(main(cache_folder(environment) / "files-without-secrets"))
