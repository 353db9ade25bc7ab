"""What survives a compaction, measured for langledger and for its peers."""
