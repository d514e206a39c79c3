"""ToyJob of toys.example.com: replica types as a map, lowered only to Pods."""
