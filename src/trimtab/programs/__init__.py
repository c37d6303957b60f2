"""Outside programs: found or fetched by hash, run under limits."""
