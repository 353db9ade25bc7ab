"""The demo: an agent works through compactions, and what it still knows afterwards."""
