"""Pictures; `softcosine.plots` has the public names.

``heat_maps.py``
    Heat maps of documents, words or terms.
``explanation_bars.py``
    What each pair of words adds to a score.
``drawing.py``
    The base class of pictures.
"""
