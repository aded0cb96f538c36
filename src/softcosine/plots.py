"""Plots of similarities, and of the summands of a score.

Each function returns a data object with the numbers and `to_dict`. Its `save` draws it by
matplotlib (``pip install 'softcosine[plots]'``) into a file, and a notebook shows it.

>>> import softcosine as sc
>>> index = sc.SoftIndex.from_texts(["a flat tyre", "a puncture", "green tea"], ids=["a", "b", "c"])
>>> heat = similarity_heat_map(index, ["a", "b", "c"])
>>> heat.values.shape
(3, 3)
>>> heat.save("similar.png")  # doctest: +SKIP
"""

from softcosine.evaluate.plots.explanation_bars import ExplanationBars as ExplanationBars
from softcosine.evaluate.plots.explanation_bars import explanation_bars as explanation_bars
from softcosine.evaluate.plots.heat_maps import HeatMap as HeatMap
from softcosine.evaluate.plots.heat_maps import similarity_heat_map as similarity_heat_map
from softcosine.evaluate.plots.heat_maps import term_heat_map as term_heat_map
from softcosine.evaluate.plots.heat_maps import word_heat_map as word_heat_map
