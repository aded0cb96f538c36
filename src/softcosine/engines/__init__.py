"""Other engines that serve the ranking: each a file, behind one protocol."""
