"""Systems to compare: soft similarity and baselines, with one protocol.

Get a system by name and settings, `named("bm25", k1=0.9)`, or by a spec,
`from_spec("bm25:k1=0.9,b=0.4")`; `SYSTEMS` in `table` lists all of them, one per file. `system` has
the protocols, `settings` the checks of settings, `fitted` and `rows` the shared ranking code.
"""

from softcosine.evaluate.systems.table import SYSTEMS, described, from_spec, named, split_specs

__all__ = ["SYSTEMS", "described", "from_spec", "named", "split_specs"]
