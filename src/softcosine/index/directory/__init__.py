"""Where an index is stored: commits, manifests, parts; check, salvage, backup."""
