"""Suppression comments and annotations."""
