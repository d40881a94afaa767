"""Actions as values."""
