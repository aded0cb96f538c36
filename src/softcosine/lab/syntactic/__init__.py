"""Syntactic n-grams."""
