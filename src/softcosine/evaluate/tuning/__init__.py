"""Choosing settings on labelled queries by cross-validation."""
