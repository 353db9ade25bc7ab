"""Recorded sessions, and their replay through the real middleware."""
