"""Joins of several sources into one.

- ``combined.py``: `strongest`, `noisy_or`, `first`, `scaled`; ``by_name.py``: their names.
"""
