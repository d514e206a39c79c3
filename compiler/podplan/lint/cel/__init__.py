"""CEL as Kubernetes defines it: expressions of policies over one object, with limits and offline.

The module ``rules`` has plain data: the expressions and their results. The entry point is
``sandbox.evaluate_rules``: it sends the rules and the object to a separate process (``worker``), because the
evaluator is C++ that cannot be interrupted and expressions come from repositories. In that process
``evaluation`` evaluates, ``environment`` defines the types, and ``functions`` has the libraries that
Kubernetes adds to CEL.

Source: https://kubernetes.io/docs/reference/using-api/cel/.
"""
