"""Kinds of job: ``registry`` lists them, ``spec`` describes their properties, and each kind has a package."""
