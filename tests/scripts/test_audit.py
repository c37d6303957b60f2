"""The dependency audit fails on a finding and only on that; a service out of reach is told, not hidden."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts.audit import ROOT, Verdict, audit, ignored, verdict
from scripts.check import NOT_DONE

ADVISORY = {
    "id": "GHSA-aaaa-bbbb-cccc",
    "modified": "2026-01-01T00:00:00Z",
    "summary": "a flaw in click",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "click"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99"}]}],
        }
    ],
}


@contextmanager
def vulnerability_service(*affected: str) -> Iterator[str]:
    """A service on loopback that speaks the OSV protocol and knows one advisory."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["queries"]
            known = {"vulns": [{"id": ADVISORY["id"], "modified": ADVISORY["modified"]}]}
            self.answer({"results": [known if q["package"]["name"] in affected else {} for q in asked]})

        def do_GET(self) -> None:
            self.answer(ADVISORY)

        def answer(self, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_clean_dependencies_pass(tmp_path: Path) -> None:
    with vulnerability_service() as url:
        text, exit_code = audit(ROOT, "--service-url", url, "--cache-dir", str(tmp_path))
    assert exit_code == 0
    assert text.startswith("Found no known vulnerabilities")


def test_a_known_vulnerability_fails_and_is_named(tmp_path: Path) -> None:
    with vulnerability_service("click") as url:
        text, exit_code = audit(ROOT, "--service-url", url, "--cache-dir", str(tmp_path))
    assert exit_code == 1
    assert "GHSA-aaaa-bbbb-cccc: a flaw in click" in text


def test_a_service_out_of_reach_is_told_in_one_line_and_is_no_failure() -> None:
    text, exit_code = audit(ROOT, "--service-url", "http://127.0.0.1:1")
    assert exit_code == NOT_DONE
    assert text == (
        "not audited: the vulnerability service does not answer (Connection refused (os error 111))"
    )


def test_a_broken_set_up_is_a_failure_not_a_service_out_of_reach() -> None:
    assert verdict(2, "error: the lock file needs to be updated") == Verdict(
        "error: the lock file needs to be updated", 1
    )


def test_an_ignored_finding_needs_a_reason(tmp_path: Path) -> None:
    (tmp_path / ".audit-ignored.toml").write_text('[ignored]\n"GHSA-1" = "we never call it"\n')
    assert ignored(tmp_path) == ["GHSA-1"]
    (tmp_path / ".audit-ignored.toml").write_text('[ignored]\n"GHSA-1" = ""\n')
    with pytest.raises(SystemExit, match="GHSA-1 has no reason"):
        ignored(tmp_path)
