"""Resolves a profile: extends, environments, --set, matrix, params, expressions, names.

``resolve.resolve_profile`` is the entry point; docs/profile.md describes the rules.
"""
