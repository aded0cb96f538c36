"""SNOS: similarities of objects and of their features, each learned from the other (theory T13)."""
