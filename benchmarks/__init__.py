"""What the speed figures in the documentation come from: `make bench`."""
