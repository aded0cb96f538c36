"""What is compared: soft similarity and its rivals, behind one protocol.

Ask for a system by its name and settings, `named("bm25", k1=0.9)`, or by a spec,
`from_spec("bm25:k1=0.9,b=0.4")`; `SYSTEMS` lists them.
"""

from softcosine.evaluate.systems.table import SYSTEMS, described, from_spec, named, split_specs

__all__ = ["SYSTEMS", "described", "from_spec", "named", "split_specs"]
