"""Numba kernels of the laboratory; see `softcosine.kernels`."""
