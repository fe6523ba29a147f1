"""How each kind of package is made; `scripts/package` is the command."""
