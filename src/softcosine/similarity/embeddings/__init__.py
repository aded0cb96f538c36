"""Vectors of words: from files and models to nearest neighbours."""
