"""What is secret (``secret_names``, ``detection``, ``broken_text``), and hiding it (``redactor``).

No other package decides what a secret is, or hides one.
"""
