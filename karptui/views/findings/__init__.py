"""Findings of the verdict as sentences."""
