"""Numba kernels that only the laboratory uses; see `softcosine.kernels`."""
