"""The parts of `make bench`, one in a module: `section(folder, scale)` makes its inputs and measures."""
