"""Graphs of lowered jobs: what runs, what it reads, and who connects to whom on which port.

``picture.build_graph`` builds the ``model`` from a CR and its replica groups; ``svg`` and ``mermaid`` render
it as text. All are pure functions, and the same job gives the same bytes.
"""
