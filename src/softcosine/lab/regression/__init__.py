"""Similarities of terms by statistical regression."""
