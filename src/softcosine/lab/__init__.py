"""What the papers have and no measurement of this project recommends."""
