"""Predicts the status that a controller reports of a job with Pods in given states, and what it does next.

``reconcile.reconcile_job`` is a pure function of the CR, its replicas and the behaviors of the controllers.
The status is the one after the controller has acted on the states: replicas that it restarts are being
created, and Pods that it cleans up are deleted.
"""
