"""Joins of several sources into one: `strongest`, `noisy_or`, `first`, `scaled`."""
