"""Kinds of Kubernetes itself: Job."""
