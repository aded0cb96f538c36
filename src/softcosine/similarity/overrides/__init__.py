"""Rules that override the similarities of sources: your decisions, antonyms, and terms with digits.

- ``decision_list.py``: `Decisions`, your decisions as a value; ``decision_files.py``: their files;
- ``decisions.py``: `DecidedSimilarity`, a source with decisions applied;
- ``guard.py``: `Guarded`, a source without antonyms and terms with digits; ``antonyms.py``.
"""
