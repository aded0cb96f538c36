"""Similarities of pairs of terms, learned from preferences between documents."""
