"""Exact search: `SoftIndex` over texts, `SoftNeighbors` over matrices."""
