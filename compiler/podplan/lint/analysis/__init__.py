"""Facts about a job that several checks use: its Pods, launches, processes, hosts, and the inventory."""
