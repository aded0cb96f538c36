"""Joins of several sources into one, and calibration to one scale.

- ``combined.py``: `strongest`, `mean`, `noisy_or`, `first`, `scaled`;
- ``calibration.py``: `calibrated`, the scale of human judgements; ``isotonic.py``: its fit;
- ``joining.py``: exact neighbours under a join.
"""
