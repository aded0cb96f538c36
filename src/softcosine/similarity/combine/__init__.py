"""Joins of several sources into one.

- ``combined.py``: `strongest`, `mean`, `noisy_or`, `first`, `scaled`; ``by_name.py``: their names.
"""
