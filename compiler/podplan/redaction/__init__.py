"""What is secret (``secret_names``, ``detection``, ``broken_text``), and how that is hidden (``redactor``).

Nothing else in podplan decides what a secret is, and nothing else hides one.
"""
