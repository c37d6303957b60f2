"""The demo: a small shop from its first sync to a rollback, told through the verbs themselves."""
