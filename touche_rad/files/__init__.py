"""The official files: recognised, read, checked and written."""
