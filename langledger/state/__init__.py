"""The working state: what a task's tool calls and words left behind, as typed records."""
