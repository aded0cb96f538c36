"""Measures of pairs of short texts, and a ranking learned from them."""
