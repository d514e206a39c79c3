"""CEL as Kubernetes speaks it: expressions of policies over one object, bounded and offline.

``rules`` holds plain data: what to evaluate and what came of it. ``judging.judge`` is the way in; it hands
the rules and the object to a process of its own (``worker``), because the evaluator is C++ that cannot be
interrupted and expressions come from repositories. In there ``evaluation`` evaluates, ``environment`` knows
the types and ``functions`` are the libraries that Kubernetes adds to CEL.

Source: https://kubernetes.io/docs/reference/using-api/cel/.
"""
