"""Kinds of job: ``registry`` lists them, ``spec`` has what they answer, and each has a package."""
