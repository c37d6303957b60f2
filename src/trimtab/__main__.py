"""`python -m trimtab` is the `trimtab` command."""

from trimtab.interfaces.cli import main

if __name__ == "__main__":
    main()
