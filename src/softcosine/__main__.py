"""``python -m softcosine``: the command line."""

from __future__ import annotations

from softcosine.cli.app import main

if __name__ == "__main__":
    main()
