"""Several sources as one, on one scale."""
