"""A small model reads what was said, in the background, and its findings are checked."""
