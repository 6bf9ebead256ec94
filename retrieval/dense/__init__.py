"""Dense search: encoders, vectors beside an index, exact and approximate neighbours."""
