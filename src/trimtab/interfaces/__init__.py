"""How people and programs reach Trimtab."""
