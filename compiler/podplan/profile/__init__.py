"""From a profile file to resolved profiles: extends, environments, --set, matrix, params, expressions, names.

``resolve.resolve`` is the way in; docs/profile.md says what it does in words.
"""
