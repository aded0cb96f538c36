"""The term similarity matrix S: its assembly (theory T6), definiteness and storage."""
