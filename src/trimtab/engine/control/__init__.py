"""What keeps units: one look, one operation, and the clusters they go to; `Engine` puts them together."""
