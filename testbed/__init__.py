"""The real parts for tests and benches: got, pinned, started on loopback."""
