"""The soft vector space: measures between documents and the transforms that carry them."""
