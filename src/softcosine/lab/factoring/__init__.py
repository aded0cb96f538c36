"""Factorisations of S by other libraries."""
