"""Dense search: encoders, vectors beside an index, nearest neighbours."""
