"""ToyJob of toys.example.com: replica types as a map, and no more than Pods."""
