"""What a controller reports of a job whose Pods were seen in some state, and what it does next.

``acting.act`` is a pure function of the CR, its replicas and what is known of the controllers (facts.endings,
facts.reported). The status is the one after the controller has acted on what it saw: replicas that it
starts again are being created, and Pods that it cleans up are deleted.
"""
