"""What was said: decisions, conventions, questions and definitions, and their life. Pure."""
