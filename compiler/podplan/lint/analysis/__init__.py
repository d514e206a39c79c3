"""What several checks need to know of a job: its Pods, launches, processes, hosts, and the inventory."""
