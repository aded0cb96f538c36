"""What is compared: soft similarity and its rivals, behind one protocol."""
