"""The shapes concurrency may take; the only room that may start bare tasks."""
