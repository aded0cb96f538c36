"""Sources of term similarity that compare spelling.

- ``edit_distance.py``: `EditDistanceSimilarity`; ``nearby_strings.py``: its search;
- ``character_ngrams.py``: `CharacterNgramSimilarity`.
"""
