"""The parts of `make bench`, one per module: `section(folder, scale)` writes its inputs and measures."""
