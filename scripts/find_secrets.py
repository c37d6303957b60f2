"""Fails when a tracked file seems to hold a secret.

Finding is the work of detect-secrets, without asking any service whether a key is live. What it finds wrongly
stands in `.secrets-allowed.toml` with a reason; an entry there that matches nothing any more fails as well.
"""

from __future__ import annotations

import fnmatch
import hashlib
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from detect_secrets.__version__ import VERSION as DETECT_SECRETS_VERSION
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_file
from detect_secrets.settings import transient_settings

from scripts.tracked import tracked_files

ROOT = Path(__file__).resolve().parents[1]
ALLOWED_FILE = ".secrets-allowed.toml"
MEMORY_FILE = ".secrets_cache"

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
    plugins: Iterable[type] = get_mapping_from_secret_type_to_class().values()
    config = {
        "plugins_used": [{"name": kind.__name__} for kind in plugins if kind.__name__ not in TOO_NOISY],
        "filters_used": [{"path": path} for path in FILTERS],
    }
    with transient_settings(config):
        found = {
            Finding(str(path), secret.line_number, secret.type)
            for path in paths
            for secret in scan_file(str(root / path))
        }
    return sorted(finding for finding in found if not _planted(finding))


def _planted(finding: Finding) -> bool:
    return finding.kind in FINE_IN_TESTS and finding.path.split("/", 1)[0] in TEST_FOLDERS


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


def remembered_findings(root: Path, paths: Iterable[Path]) -> list[Finding]:
    """As `findings`, but a file that was clean and has not changed since is not read again."""
    prints, memory = fingerprints(root, paths), root / MEMORY_FILE
    clean = set(memory.read_text().split()) if memory.exists() else set()
    found = findings(root, [path for path in prints if prints[path] not in clean])
    dirty = {finding.path for finding in found}
    memory.write_text("\n".join(sorted(prints[path] for path in prints if str(path) not in dirty)))
    return found


def main(root: Path = ROOT) -> int:
    """Print what was found and count it as failure."""
    paths = tracked_files(root)
    lines = complaints(remembered_findings(root, paths), allowances(root))
    for line in lines:
        print(line)
    print(f"{len(lines)} complaints" if lines else f"no secrets in {len(paths)} files")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
