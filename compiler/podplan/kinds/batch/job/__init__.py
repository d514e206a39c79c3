"""Job of batch/v1: Pods until enough of them have succeeded."""
