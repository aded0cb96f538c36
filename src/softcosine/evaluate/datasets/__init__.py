"""Judged collections of every kind, read from files as they are published."""
